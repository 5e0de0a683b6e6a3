package resource

import (
	"regexp"
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
			token, problem := parseAuthorization(test.headers)
			if token != test.token || (problem != "") != test.problem {
				t.Errorf("got %.40q and %q", token, problem)
			}
		})
	}
}

func FuzzParseAuthorization(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer abc", "bearer  a+/=", "Basic YTpi", "Bearer\ta", "Bearer a,b", "Bearer \x00", "BEARER ä"} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9\-._~+/]+=*)$`)
	f.Fuzz(func(t *testing.T, header string) {
		token, problem := parseAuthorization([]string{header})
		if token != "" && problem != "" {
			t.Fatalf("%q: both a token and a problem", header)
		}
		want := ""
		if m := grammar.FindStringSubmatch(header); m != nil && len(m[1]) <= maxToken {
			want = m[1]
		}
		if token != want {
			t.Fatalf("%q: got %q, the grammar says %q", header, token, want)
		}
	})
}
