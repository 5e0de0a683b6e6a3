package web

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOwnAddress(t *testing.T) {
	for _, test := range []struct{ base, next, expect string }{
		{"", "", "/"},
		{"", "/", "/"},
		{"", "/account/", "/account/"},
		{"", "/o/authorize/?state=a%2Fb&x=%5C", "/o/authorize/?state=a%2Fb&x=%5C"},
		{"", `/o/authorize/?state=a\b`, `/o/authorize/?state=a\b`},
		{"", "/o/authorize/?state=//evil.com/..", "/o/authorize/?state=//evil.com/.."},
		{"", "/o/authorize/?", "/o/authorize/"},
		{"", "/account/#sessions", "/account/"},
		{"", "/admin/groups/a%2Fb/delete/", "/admin/groups/a%2Fb/delete/"},
		{"", "https://id.example.com/account/", "/account/"},
		{"", "https://id.example.com", "/"},
		{"", "https://id.example.com?x", "/"},
		{"", "https://id.example.com.evil.com/", "/"},
		{"", "https://id.example.com@evil.com/", "/"},
		{"", "https://id.example.com:444/account/", "/"},
		{"", "https://id.example.com//evil.com", "/"},
		{"", "https://evil.com/", "/"},
		{"", "http://id.example.com/account/", "/"},
		{"", "//evil.com", "/"},
		{"", "///evil.com", "/"},
		{"", `/\evil.com`, "/"},
		{"", `\\evil.com`, "/"},
		{"", `\/evil.com`, "/"},
		{"", "/%5cevil.com", "/"},
		{"", "/%2fevil.com", "/"},
		{"", "%2f%2fevil.com", "/"},
		{"", "/a//evil.com", "/"},
		{"", "/\t/evil.com", "/"},
		{"", "/%09/evil.com", "/"},
		{"", "/\r\nSet-Cookie: a=b", "/"},
		{"", "/a/../b", "/"},
		{"", "/a/%2e%2e/b", "/"},
		{"", "javascript:alert(1)", "/"},
		{"", "data:text/html,x", "/"},
		{"", "account/", "/"},
		{"", "?next=x", "/"},
		{"", " /account/", "/"},
		{"", "/%zz", "/"},
		{"", "/\x00", "/"},
		{"", "/\xff", "/"},
		{"/auth", "", "/auth/"},
		{"/auth", "/auth", "/auth"},
		{"/auth", "/auth/account/", "/auth/account/"},
		{"/auth", "https://id.example.com/auth/account/", "/auth/account/"},
		{"/auth", "/account/", "/auth/"},
		{"/auth", "/authority/", "/auth/"},
		{"/auth", "/auth/../other/", "/auth/"},
		{"/auth", "/auth%2f../other/", "/auth/"},
		{"/auth", "https://id.example.com/other/", "/auth/"},
	} {
		s := &Site{Origin: "https://id.example.com", Base: test.base}
		if got := s.OwnAddress(test.next); got != test.expect {
			t.Errorf("base %q: %q leads to %q, expected %q", test.base, test.next, got, test.expect)
		}
	}
}

func FuzzOwnAddress(f *testing.F) {
	for _, next := range []string{
		"/auth/account/",
		"//evil.com",
		`/\evil.com`,
		"https://id.example.com/auth/?a=b",
		"/auth/../x",
		"/auth/%2e%2e/",
		"/auth/\t",
		"/auth/é",
		"/auth/o/authorize/?state=%00",
	} {
		f.Add(next)
	}
	s := &Site{Origin: "https://id.example.com", Base: "/auth"}
	at, err := url.Parse("https://id.example.com/auth/login/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := s.OwnAddress(next)
		path, _, _ := strings.Cut(got, "?")
		if got != "/auth" && !strings.HasPrefix(
			got, "/auth/",
		) && !strings.HasPrefix(got, "/auth?") || strings.ContainsAny(path, "\\\t\r\n") || !utf8.ValidString(got) {
			t.Fatalf("%q leads to %q", next, got)
		}
		target, err := at.Parse(got)
		if err != nil || target.Host != at.Host || target.Scheme != at.Scheme || !strings.HasPrefix(
			target.Path, "/auth",
		) || strings.Contains(target.Path, "..") && !isNormalized(target.Path) {
			t.Fatalf("%q leads to %q, which is %v, %v", next, got, target, err)
		}
		if again := s.OwnAddress(got); again != got {
			t.Fatalf("%q becomes %q, then %q", next, got, again)
		}
	})
}
