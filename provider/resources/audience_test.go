package resources

import (
	"testing"

	"mandate/provider/policy"
	"mandate/storage"
)

// RFC 8707 §2: each scope is approved where it has a meaning, and what has none anywhere must be approved too.
func TestToApprove(t *testing.T) {
	self := &storage.Resource{Key: "https://auth.example/", URI: "https://auth.example"}
	narrow := &storage.Resource{Key: "urn:a", URI: "urn:a", Scopes: "read write", Generation: "1"}
	wide := &storage.Resource{Key: "urn:b", URI: "urn:b"}
	type of = []*storage.Resource
	for _, test := range []struct {
		rule           string
		of             of
		scopes, claims []string
		want           string
	}{
		{"the server", of{self}, []string{"read", "email"}, nil, ` \read email`},
		{"a resource", of{narrow}, []string{"read"}, nil, `urn:a#1 \read`},
		{"each has its own scopes", of{narrow, wide}, []string{"read", "x"}, nil, "urn:a#1 \\read\nurn:b \\read x"},
		{"the server beside a resource", of{narrow, self}, []string{"read", "x"}, nil, " \\read x\nurn:a#1 \\read"},
		{"identity scopes belong to the server", of{wide}, []string{"openid", "read"}, nil, " openid\nurn:b read"},
		{"a login that lasts", of{wide}, []string{"openid", "read", "offline_access"}, []string{"email"},
			" \\openid offline_access email\nurn:b \\read"},
		{"a resource without a scope", of{wide}, []string{"openid"}, nil, " openid\nurn:b "},
		{"claims", of{wide}, []string{"openid", "read"}, []string{"email"}, " openid email\nurn:b read"},
		{"a scope that is also one of claims", of{self}, []string{"email"}, []string{"email"}, ` \email`},
		{"a scope of no resource", of{narrow}, []string{"read", "x"}, nil, " \\x\nurn:a#1 \\read"},
		{"introspection", of{wide}, []string{policy.Introspection}, nil, " \\introspection\nurn:b "},
	} {
		audience := Audience{rules: policy.New(policy.Settings{OpenID: true}), self: self, of: test.of}
		if got := audience.ToApprove(test.scopes, test.claims).String(); got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}

func TestTypOfAnAudience(t *testing.T) {
	self := &storage.Resource{Key: "https://auth.example/", URI: "https://auth.example"}
	strict, lenient, other := &storage.Resource{Key: "urn:a"}, &storage.Resource{Key: "urn:b", JWTTyp: TypJWT},
		&storage.Resource{Key: "urn:c", JWTTyp: TypJWT}
	type of = []*storage.Resource
	for _, test := range []struct {
		of   of
		want string
	}{{of{self}, "at+jwt"}, {of{strict}, "at+jwt"}, {of{lenient}, "JWT"}, {of{lenient, other}, "JWT"},
		{of{lenient, strict}, "at+jwt"}, {of{strict, lenient}, "at+jwt"}, {of{self, lenient}, "at+jwt"}} {
		if got := (Audience{self: self, of: test.of}).Typ(); got != test.want {
			t.Errorf("%v: %s, want %s", test.of, got, test.want)
		}
	}
}
