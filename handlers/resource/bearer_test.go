package resource

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseAuthorization(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		token   string
		problem bool
	}{
		{"absent", nil, "", false},
		{"empty", []string{""}, "", false},
		{"plain", []string{"Bearer abc"}, "abc", false},
		{"scheme in any case", []string{"bEARER abc"}, "abc", false},
		{"several spaces", []string{"Bearer   abc"}, "abc", false},
		{"every character", []string{"Bearer azAZ09-._~+/=="}, "azAZ09-._~+/==", false},
		{"another scheme", []string{"Basic YTpi"}, "", false},
		{"a scheme with the same beginning", []string{"Bearertoken abc"}, "", false},
		{"no token", []string{"Bearer"}, "", true},
		{"a space instead of a token", []string{"Bearer "}, "", true},
		{"only padding", []string{"Bearer =="}, "", true},
		{"padding inside", []string{"Bearer a=b"}, "", true},
		{"a tab", []string{"Bearer\tabc"}, "", true},
		{"a space after", []string{"Bearer abc "}, "", true},
		{"two tokens", []string{"Bearer abc, Bearer def"}, "", true},
		{"quoted", []string{`Bearer "abc"`}, "", true},
		{"not ASCII", []string{"Bearer äbc"}, "", true},
		{"longest", []string{"Bearer " + strings.Repeat("a", maxToken)}, strings.Repeat("a", maxToken), false},
		{"too long", []string{"Bearer " + strings.Repeat("a", maxToken+1)}, "", true},
		{"two headers", []string{"Bearer abc", "Bearer abc"}, "", true},
		{"two headers, one Basic", []string{"Basic YTpi", "Bearer abc"}, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, scheme := range []string{schemeBearer, schemeDPoP} {
				headers := slices.Clone(test.headers)
				for i, h := range headers {
					headers[i] = strings.Replace(h, "Bearer", scheme, 1)
				}
				got, problem := parseAuthorization(headers, []string{schemeBearer, schemeDPoP})
				if got.token != test.token || (problem != "") != test.problem ||
					got.token != "" && !strings.EqualFold(got.scheme, headers[0][:len(got.scheme)]) {
					t.Errorf("%.40q: got %.40q and %q", headers, got, problem)
				}
			}
			if got, problem := parseAuthorization([]string{"DPoP abc"}, []string{schemeBearer}); got != (credentials{}) ||
				problem != "" {
				t.Errorf("a scheme that the guard does not check: %v %q", got, problem)
			}
		})
	}
}

func FuzzParseAuthorization(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer abc", "bearer  a+/=", "Basic YTpi", "Bearer\ta", "Bearer a,b",
		"Bearer \x00", "BEARER ä", "DPoP abc", "dpop  a", "DPoPa b"} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`^(?i:(bearer)|dpop) +([A-Za-z0-9\-._~+/]+=*)$`)
	f.Fuzz(func(t *testing.T, header string) {
		got, problem := parseAuthorization([]string{header}, []string{schemeBearer, schemeDPoP})
		if got.token != "" && problem != "" {
			t.Fatalf("%q: both a token and a problem", header)
		}
		want := credentials{}
		if m := grammar.FindStringSubmatch(header); m != nil && len(m[2]) <= maxToken {
			want = credentials{schemeDPoP, m[2]}
			if m[1] != "" {
				want.scheme = schemeBearer
			}
		}
		if got.token != want.token || got.token != "" && got.scheme != want.scheme {
			t.Fatalf("%q: got %q, the grammar says %q", header, got, want)
		}
	})
}
