package handlers

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"mandate/provider/people"
	"mandate/provider/policy"
)

// OIDC Core §2: a subject has at most 255 ASCII characters. People who come from another server keep theirs, and their
// page has an address.
func TestEverySubjectHasAPage(t *testing.T) {
	s := newSite(t, "/auth")
	root := s.as(t, "root")
	var all strings.Builder
	for r := '!'; r <= '~'; r++ {
		all.WriteRune(r)
	}
	for n, subject := range []string{
		"auth0|5f7c",
		"google-oauth2|1234",
		"alice@example.com",
		"https://login.example/people?id=7#x",
		"a/b",
		"a%2Fb",
		"-",
		".x",
		"...",
		all.String(),
		strings.Repeat("x", 255),
	} {
		name := fmt.Sprintf("person%d", n)
		_, err := s.provider.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: name,
			Password: goodPassword,
			Subject:  subject,
		})
		if err != nil {
			t.Errorf("%q: %v", subject, err)
			continue
		}
		list := root.get(t, "/admin/users/?q="+name)
		link := regexp.MustCompile(`href="/auth(/admin/users/[^"]+/)"><bdi[^>]*>` + name + `<`).FindStringSubmatch(list.body)
		if link == nil {
			t.Fatalf("%q: no link in\n%s", subject, list.body)
		}
		path := html.UnescapeString(link[1])
		root.get(t, path).wants(t, 200, `value="`+name+`"`)
		root.get(t, path+"delete/").wants(t, 200, "Delete “"+name+"”?")
		root.get(t, path+"factors/").wants(t, 200)
		s.as(t, name)
		root.follow(t, root.post(t, path+"sessions/end/")).wants(t, 200, "Nowhere.")
		// The cookie with the new link belongs to this page. A browser compares its path with the address as it is
		// written (RFC 6265 §5.1.4), and the cookies of Go with the decoded one.
		kept := root.post(t, path+"reset-link/").cookies()["mandate_secret"]
		if kept == nil || kept.Path+"/" != "/auth"+path {
			t.Fatalf("%q: the cookie with the link is %v, for the page %s", subject, kept, path)
		}
		r := root.request(t, get, path, "")
		r.AddCookie(kept)
		root.do(t, r).wants(t, 200, "/auth/password/reset/")
		root.follow(t, root.post(t, path+"delete/")).wants(t, 200)
		root.get(t, path).wants(t, 404)
	}
	for _, subject := range []string{"new", ".", "..", "a b", "a\tb", "ä", "a\x7f", strings.Repeat("x", 256)} {
		_, err := s.provider.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: "somebody",
			Password: goodPassword,
			Subject:  subject,
		})
		if err == nil {
			t.Errorf("%q can be a subject", subject)
		}
	}
}
