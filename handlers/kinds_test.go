package handlers

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/provider/policy"
	"mandate/storage"
)

var formControl = regexp.MustCompile(`<(?:input|textarea) id="[^"]*" name="([a-z_]+)"`)

// controls returns the names of the form's fields before and below Advanced.
func (a answer) controls() (main, advanced []string) {
	before, after, _ := strings.Cut(a.body, `<summary id="advanced">`)
	names := func(text string) []string {
		var found []string
		for _, m := range formControl.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(found, m[1]) {
				found = append(found, m[1])
			}
		}
		return found
	}
	return names(before), names(after)
}

// filled returns the values of a form as a browser would send it.
func (a answer) filled() url.Values {
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input [^>]*name="([a-z_]+)"[^>]*value="([^"]*)"([^>]*)>`).FindAllStringSubmatch(
		a.body, -1,
	) {
		if strings.Contains(
			m[3], "checked",
		) || !strings.Contains(m[0], `type="checkbox"`) && !strings.Contains(m[0], `type="radio"`) {
			form.Add(m[1], html.UnescapeString(m[2]))
		}
	}
	for _, m := range regexp.MustCompile(`(?s)<textarea [^>]*name="([a-z_]+)"[^>]*>\n(.*?)</textarea>`).
		FindAllStringSubmatch(
			a.body, -1,
		) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	return form
}

func flat(form url.Values) []string {
	var pairs []string
	for name, values := range form {
		for _, value := range values {
			pairs = append(pairs, name, value)
		}
	}
	return pairs
}

// Each kind shows only its fields. Its form sends the others too, with the values that the kind needs.
func TestKinds(t *testing.T) {
	s := newSite(t, "")
	for kind, want := range map[string]struct {
		who, main, is, grants, redirects string
		introspects                      bool
	}{
		"website": {
			"alice",
			"[name redirect_uris scope]",
			policy.Confidential,
			policy.GrantCode,
			"https://a.example/cb",
			false,
		},
		"browser": {"alice", "[name redirect_uris scope]", policy.Public, policy.GrantCode, "https://a.example/cb", false},
		"native":  {"alice", "[name redirect_uris scope]", policy.Public, policy.GrantCode, "com.example.app:/cb", false},
		"device":  {"alice", "[name scope]", policy.Public, policy.GrantDevice, "", false},
		"service": {"alice", "[name scope]", policy.Confidential, policy.GrantClient, "", false},
		"api":     {"root", "[name may_introspect]", policy.Confidential, policy.GrantClient, "", true},
	} {
		v := s.as(t, want.who)
		page := v.get(t, "/o/applications/register/?kind="+kind)
		page.wants(t, 200, `<input type="hidden" name="kind" value="`+kind+`">`)
		main, advanced := page.controls()
		if fmt.Sprint(main) != want.main || len(main)+len(advanced) < 9 {
			t.Errorf("%s shows %v, and %v below", kind, main, advanced)
		}
		open := `<details class="more" aria-labelledby="advanced" open>`
		if strings.Contains(page.body, open) {
			t.Errorf("%s: the advanced fields are not folded", kind)
		}
		form := page.filled()
		// A mistake in a field of the kind leaves the others folded. A mistake in another one shows them.
		wrong := v.post(t, "/o/applications/register/", flat(form)...)
		wrong.wants(t, 422, `href="#name"`, `name="kind" value="`+kind+`"`)
		if strings.Contains(wrong.body, open) {
			t.Errorf("%s: the advanced fields are shown without a reason", kind)
		}
		form.Set("name", "App")
		form.Set("access_token_lifetime", "soon")
		v.post(t, "/o/applications/register/", flat(form)...).wants(t, 422, `href="#access_token_lifetime"`, open)
		form.Set("access_token_lifetime", "")
		if want.redirects != "" {
			form.Set("redirect_uris", want.redirects)
		}
		form.Set("access_token_format", policy.FormatJWT)
		form.Del("name")
		v.post(t, "/o/applications/register/", flat(form)...).wants(t, 422, open) // a value that is not the kind's
		form.Set("access_token_format", policy.FormatOpaque)
		form.Set("name", "App "+kind)
		v.follow(t, v.post(t, "/o/applications/register/", flat(form)...)).wants(t, 200, "App "+kind)
		found, _, err := s.provider.Clients.Applications(
			t.Context(), policy.Operator(), storage.Selection{Search: "App " + kind}, 2, 0,
		)
		if err != nil || len(found) != 1 {
			t.Fatal(err, len(found))
		}
		a := found[0]
		if a.ClientType != want.is || a.GrantTypes != want.grants || a.RedirectURIs != want.redirects ||
			a.MayIntrospect != want.introspects || a.Origin != storage.FromPage ||
			a.AccessTokenFormat != policy.FormatOpaque || !a.HashClientSecret {
			t.Errorf("%s: %+v", kind, a)
		}
	}
	v := s.as(t, "alice")
	v.get(t, "/o/applications/register/?kind=toaster").wants(t, 400, "There is no such kind of application")
	v.get(t, "/o/applications/register/?kind=api").wants(t, 200, "Ask one for these: a resource for your API")
	// The first page has the choice, and the form with all fields.
	first := v.get(t, "/o/applications/register/")
	for kind, title := range map[string]string{
		"website": "Website with a server", "browser": "Browser application", "native": "Mobile or desktop application",
		"device": "Command line or device", "service": "Service", "api": "API",
	} {
		first.wants(t, 200, "/o/applications/register/?kind="+kind, title)
	}
	if main, _ := first.controls(); len(main) < 9 {
		t.Errorf("the form with all fields has %v", main)
	}
	// A kind that does not exist does not matter in a form: it has all fields.
	v.post(t, "/o/applications/register/", "kind", "toaster", "name", "").wants(t, 422, `href="#name"`)
}
