package indicator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApproved(t *testing.T) {
	words := cmp.Transformer("words", func(s []string) string { return strings.Join(s, " ") })
	read, write, openid := []string{"read"}, []string{"write"}, []string{"openid"}
	for _, test := range []struct {
		rule, scope, resource string
		want                  Approved
	}{
		{"nothing", "", "", nil},
		{"an older release: for the server", "read write", "", Approved{{Lasting: []string{"read", "write"}}}},
		{"an older release: a login", "openid read", "", Approved{{Scopes: []string{"openid", "read"}}}},
		{"an older release: a login that lasts", "openid offline_access", "",
			Approved{{Lasting: []string{"openid", "offline_access"}}}},
		{"an older release: one scope at one resource", "read", "urn:a#1", Approved{{Resource: "urn:a#1", Lasting: read}}},
		{"an older release: it is unknown which scopes", "read write", "urn:a#1",
			Approved{{Resource: "urn:a#1", Unpaired: true}}},
		{"an older release: it is unknown where", "read", "urn:a\nurn:b",
			Approved{{Resource: "urn:a", Unpaired: true}, {Resource: "urn:b", Unpaired: true}}},
		{"pairs", "read write", " write\nurn:a#1 read",
			Approved{{Resource: "", Scopes: write}, {Resource: "urn:a#1", Scopes: read}}},
		{"one scope at two resources", "read", "urn:a#1 read\nurn:b read",
			Approved{{Resource: "urn:a#1", Scopes: read}, {Resource: "urn:b", Scopes: read}}},
		{"a resource without scopes", "openid", " openid\nurn:a ",
			Approved{{Resource: "", Scopes: openid}, {Resource: "urn:a", Scopes: nil}}},
		{"what outlives the session", "read write", " \\write\nurn:a read\\write",
			Approved{{Lasting: write}, {Resource: "urn:a", Scopes: read, Lasting: write}}},
		{"an older release added to pairs", "read", "urn:a read\nurn:b",
			Approved{{Resource: "urn:a", Scopes: read}, {Resource: "urn:b", Unpaired: true}}},
	} {
		got := ReadApproved(test.scope, test.resource)
		if d := cmp.Diff(test.want, got, words); d != "" {
			t.Errorf("%s: %s", test.rule, d)
		}
		if d := cmp.Diff(got, ReadApproved(test.scope, got.String()), words); d != "" {
			t.Errorf("%s: stored as %q: %s", test.rule, got.String(), d)
		}
	}
}

func TestApprovedCovers(t *testing.T) {
	before := ReadApproved("openid read write", " openid read\nurn:a write\nurn:b\nurn:c ")
	for wanted, want := range map[string]bool{
		" read": true, " openid read": true, " write": false,
		"urn:a write": true, "urn:a read": false, "urn:a ": true, "urn:a read write": false, "urn:a#2 write": false,
		"urn:b ": false, "urn:b write": false, "urn:c ": true, "urn:c read": false, "urn:d ": false,
		" read\nurn:a write": true, " read\nurn:a write\nurn:d ": false, "urn:a write\nurn:c write": false,
	} {
		now := ReadApproved("", wanted)
		if got := before.Covers(now); got != want {
			t.Errorf("%q: %t", wanted, got)
		}
		after := before.With(now)
		if !after.Covers(now) || !after.Covers(ReadApproved("", " openid read\nurn:a write\nurn:c ")) {
			t.Errorf("with %q it is %q", wanted, after)
		}
	}
	if got := before.String(); got != " openid read\nurn:a write\nurn:b\nurn:c " {
		t.Errorf("it was changed to %q", got)
	}
	merged := before.With(ReadApproved("", "urn:a write read\nurn:b read\nurn:e x")).String()
	if merged != " openid read\nurn:a write read\nurn:b read\nurn:c \nurn:e x" {
		t.Errorf("merged to %q", merged)
	}
	// What was approved for longer is approved for as long as the session too, and not the other way round.
	for _, test := range []struct{ before, now, merged string }{
		{"urn:a read", `urn:a \read`, `urn:a \read`},
		{`urn:a \read`, "urn:a read", ""},
		{`urn:a \read`, `urn:a \write`, `urn:a \read write`},
		{`urn:a write\read`, `urn:a \write`, `urn:a \read write`},
		{`urn:a \read`, "urn:a write", `urn:a write\read`},
	} {
		before, now := ReadApproved("", test.before), ReadApproved("", test.now)
		if got := before.Covers(now); got != (test.merged == "") {
			t.Errorf("%q covers %q: %t", test.before, test.now, got)
		}
		if got := before.With(now).String(); test.merged != "" && got != test.merged {
			t.Errorf("%q and %q: %q", test.before, test.now, got)
		}
	}
	if d := cmp.Diff([]string{"urn:a", "urn:b", "urn:c"}, before.Resources()); d != "" {
		t.Error(d)
	}
}

func TestApprovedNew(t *testing.T) {
	for _, test := range []struct{ before, wanted, want string }{
		{" read\nurn:a write", "urn:a read write", "read"},
		{" read\nurn:a write", "urn:b read", ""},
		{"urn:a write", " write", "write"},
		{"urn:a write\nurn:b", " write", ""}, // an older release may have stored "write" for the server
		{"urn:a write\nurn:b", "urn:b write", ""},
		{"urn:a write\nurn:b", "urn:a read", "read"},
		{"urn:a write", ` \write`, "write"},
		{" read write", ` read\write`, "write"},
		{` \read`, " read", ""},
	} {
		got := strings.Join(ReadApproved("", test.before).New(ReadApproved("", test.wanted)), " ")
		if got != test.want {
			t.Errorf("%q after %q: %q, want %q", test.wanted, test.before, got, test.want)
		}
	}
}
