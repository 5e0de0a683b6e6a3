package handlers

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mandate/provider/policy"
	"mandate/provider/resources"
)

const mailURI = "https://mail.example/v1?a=b&c=d"

func at(page, uri string) string {
	return "/admin/resources/" + page + "/?uri=" + url.QueryEscape(uri)
}

func (s *site) resource(t *testing.T, uri string) resources.Resource {
	t.Helper()
	a, err := s.provider.Resources.Resource(t.Context(), policy.Operator(), uri)
	if err != nil {
		t.Fatal(uri, err)
	}
	return a
}

func TestResources(t *testing.T) {
	s := newSite(t, "/auth")
	root := s.as(t, "root")
	root.get(t, "/admin/resources/").wants(t, 200, "There is no resource yet.", "A resource is an API")
	page := root.get(t, "/admin/resources/new/")
	page.wants(t, 200, `value="read" checked`, `value="write" checked`, "It cannot be changed later.")
	if strings.Contains(page.body, "introspection\"") || strings.Contains(page.body, "HS256") {
		t.Errorf("the form offers what no resource can have:\n%s", page.body)
	}

	t.Run("errors keep what was sent", func(t *testing.T) {
		got := root.post(
			t, "/admin/resources/new/", "name", "", "uri", "mail#x", "scopes", "write", "token_format", "opaque", "algorithm",
			"ES256", "access_token_lifetime", "soon", "introspectors", "nobody",
		)
		got.wants(
			t, 422, `value="mail#x"`, `value="write" checked`, `value="opaque" checked`, `value="ES256" checked`,
			`value="soon"`, "nobody</textarea>", `href="#name"`, `href="#uri"`, `href="#algorithm"`,
			`href="#access_token_lifetime"`, `href="#introspectors"`, "Error: ",
		)
		if strings.Contains(got.body, `value="read" checked`) {
			t.Error("a scope that was not chosen is checked")
		}
		root.post(t, "/admin/resources/new/", "name", "x", "uri", mailURI).wants(
			t, 422, `href="#scopes"`, "Choose at least one.",
		)
		root.post(
			t, "/admin/resources/new/", "name", "x", "uri", mailURI, "scopes", "read", "scopes", "unknown",
		).wants(t, 422, "There is no scope")
		root.post(
			t, "/admin/resources/new/", "name", "x", "uri", mailURI, "scopes", "read", "token_format", "saml",
		).wants(t, 422, `href="#token_format"`)
		root.post(t, "/admin/resources/new/", "name", "x", "name", "y").wants(t, 400)
	})

	caller, _ := registered(t, root, "may_introspect", "on")
	api, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(caller, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	root.follow(t, root.post(
		t, "/admin/resources/new/", "name", " Mail <b>box ", "uri", mailURI, "scopes", "read", "token_format", "jwt",
		"algorithm", "ES256", "access_token_lifetime", "600", "introspectors", api.ClientID+"\r\n",
	)).wants(
		t, 200, "The resource is added.", "Mail &lt;b&gt;box", "JWT, signed with ES256",
		"https://mail.example/v1?a=b&amp;c=d",
		`href="/auth/admin/resources/change/?uri=https%3A%2F%2Fmail.example%2Fv1%3Fa%3Db%26c%3Dd"`,
	)
	if got := s.resource(
		t, mailURI,
	); got.Name != "Mail <b>box" || got.Scopes != "read" || got.TokenFormat != "jwt" || got.Algorithm != "ES256" ||
		got.Lifetime != 600 || got.Introspectors != "\n"+api.ClientID+"\n" {
		t.Errorf("%+v", got)
	}
	root.post(
		t, "/admin/resources/new/", "name", "x", "uri", mailURI, "scopes", "read",
	).wants(t, 422, "already a resource")

	t.Run("change", func(t *testing.T) {
		page := root.get(t, at("change", mailURI))
		page.wants(
			t, 200, `value="Mail &lt;b&gt;box"`, `value="read" checked`, `value="jwt" checked`, `value="ES256" checked`,
			`value="600"`, api.ClientID+"</textarea>", "https://mail.example/v1?a=b&amp;c=d</code>",
		)
		if strings.Contains(page.body, `value="write" checked`) || strings.Contains(page.body, "as it is now") {
			t.Error(page.body)
		}
		version := versionIn(t, page)
		root.post(t, at("change", mailURI), "name", "", "scopes", "read", "version", version).wants(t, 422, `href="#name"`)
		// Every scope is chosen, so it has every scope. The URI stays.
		root.follow(t, root.post(
			t, at("change", mailURI), "name", "Mailbox", "uri", "https://other.example", "scopes", "read", "scopes", "write",
			"version", version,
		)).
			wants(t, 200, "Your changes are saved.", "Mailbox", "That of the application")
		if got := s.resource(
			t, mailURI,
		); got.URI != mailURI || got.Scopes != "" || got.Lifetime != 0 || got.Introspectors != "" {
			t.Errorf("%+v", got)
		}
		root.get(t, at("change", mailURI)).wants(t, 200, `value="read" checked`, `value="write" checked`)

		// Somebody saves a page that was opened before that change.
		for _, old := range []string{version, "", "x"} {
			got := root.post(t, at("change", mailURI), "name", "Old", "scopes", "read", "version", old)
			got.wants(t, 422, "Somebody changed", "Open the resource as it is now", `href="#name"`, `value="Old"`)
			if name := s.resource(t, mailURI).Name; name != "Mailbox" {
				t.Fatalf("version %q: the name is %q", old, name)
			}
			version = versionIn(t, got)
		}
		root.post(t, at("change", mailURI), "name", "Newest", "scopes", "read", "version", version).wants(t, 303)
		if name := s.resource(t, mailURI).Name; name != "Newest" {
			t.Error("after the warning, the name is", name)
		}
	})

	t.Run("list", func(t *testing.T) {
		for i := range 25 {
			root.post(
				t, "/admin/resources/new/", "name", "Ledger", "uri", "urn:example:"+strconv.Itoa(i), "scopes", "read",
			).wants(t, 303)
		}
		root.get(t, "/admin/resources/").wants(t, 200, "Page 1 of 2, 26 in all")
		root.get(t, "/admin/resources/?page=2").wants(t, 200, "Newest")
		root.get(t, "/admin/resources/?page=3").wants(t, 404)
		for _, search := range []string{"nEWest", "MAIL.example/v1"} {
			found := root.get(t, "/admin/resources/?q="+search)
			found.wants(t, 200, "Newest")
			if strings.Contains(found.body, "Ledger") {
				t.Errorf("%s finds too much", search)
			}
		}
		root.get(t, "/admin/resources/?q=zebra").wants(t, 200, "No resource matches")
	})

	t.Run("delete", func(t *testing.T) {
		root.get(t, at("delete", mailURI)).wants(
			t, 200, "Delete the resource “Newest”?", "https://mail.example/v1?a=b&amp;c=d",
		)
		root.follow(t, root.post(t, at("delete", mailURI))).wants(t, 200, "The resource is deleted.")
		for _, page := range []string{"change", "delete"} {
			root.get(t, at(page, mailURI)).wants(t, 404)
			root.post(t, at(page, mailURI), "name", "x", "version", "0").wants(t, 404)
		}
	})
}

func (s *site) apis(t *testing.T) []resources.Resource {
	t.Helper()
	all, err := s.provider.Resources.Resources(t.Context(), policy.Operator())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An old page of a resource that was deleted changed the new one with the same URI: its first version is the same
// number.
func TestAttackOldPageOfADeletedResource(t *testing.T) {
	s := newSite(t, "")
	root := s.as(t, "root")
	const uri = "https://mail.example/api"
	path := "/admin/resources/change/?" + url.Values{"uri": {uri}}.Encode()
	add := func(name string) {
		root.post(t, "/admin/resources/new/", "name", name, "uri", uri, "scopes", "read").wants(t, 303)
	}
	add("Mail")
	old := versionIn(t, root.get(t, path))
	root.post(t, strings.Replace(path, "change", "delete", 1)).wants(t, 303)
	add("New")
	root.post(
		t, path, "name", "Old", "scopes", "write", "version", old,
	).wants(t, 422, "Somebody changed or deleted the resource")
	if got := s.resource(t, uri); got.Name != "New" || got.Scopes != "read" {
		t.Errorf("the old page has written %q with %q", got.Name, got.Scopes)
	}
	root.post(t, path, "name", "Newer", "scopes", "read", "version", versionIn(t, root.get(t, path))).wants(t, 303)
}

var versionField = regexp.MustCompile(`name="version" value="(\d+[^"]*)"`)

func versionIn(t *testing.T, page answer) string {
	t.Helper()
	m := versionField.FindStringSubmatch(page.body)
	if m == nil {
		t.Fatalf("no version in\n%s", page.body)
	}
	return m[1]
}

func TestResourcesAreForAdministrators(t *testing.T) {
	const configured = "https://configured.example/"
	s := siteOver(t, "", []resources.Registration{{URI: configured, Name: "Configured"}})
	s.addPeople(t)
	_, err := s.provider.Resources.Add(t.Context(), policy.Operator(), resources.Registration{
		URI:  mailURI,
		Name: "Mailbox",
	})
	if err != nil {
		t.Fatal(err)
	}
	alice, root := s.as(t, "alice"), s.as(t, "root")
	if home := alice.get(t, "/"); strings.Contains(home.body, "/admin/resources/") {
		t.Error("the navigation of a person has the entry")
	}
	root.get(t, "/").wants(t, 200, `href="/admin/resources/"`)
	for _, path := range []string{
		"/admin/resources/",
		"/admin/resources/new/",
		"/admin/resources/change/",
		"/admin/resources/delete/",
		at("change", mailURI),
		at("delete", mailURI),
		at("change", "x"),
	} {
		alice.get(t, path).wants(t, 403, "for administrators")
		s.visitor(t).get(t, path).wants(t, 303)
		if path != "/admin/resources/" {
			alice.post(t, path, "name", "Mine", "uri", "https://mine.example/", "scopes", "read", "version", "0").wants(t, 403)
			s.visitor(t).post(t, path).wants(t, 303)
		}
	}
	for _, page := range []string{"change", "delete"} {
		root.follow(t, root.get(t, "/admin/resources/"+page+"/")).wants(t, 200, "Mailbox")
		root.post(t, "/admin/resources/"+page+"/").wants(t, 404)
		root.get(t, at(page, "x")).wants(t, 404)
		root.get(t, "/admin/resources/"+page+"/?uri=a&uri=b").wants(t, 400)
		// Only the operator changes the configuration.
		root.get(t, at(page, configured)).wants(t, 403, "RESOURCES")
		root.post(t, at(page, configured), "name", "Mine", "scopes", "read", "version", "0").wants(t, 403)
	}
	list := root.get(t, "/admin/resources/")
	list.wants(t, 200, "Configured", "From the configuration", "can be changed only there", "Mailbox")
	if strings.Contains(list.body, url.QueryEscape(configured)) {
		t.Error("a resource of the configuration has a link to its form")
	}
	r := root.request(t, post, at("delete", mailURI), "")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	root.do(t, r).wants(t, 403)
	if len(s.apis(t)) != 2 {
		t.Error("somebody without rights changed the resources", s.apis(t))
	}
}

func TestApplicationResources(t *testing.T) {
	s := newSite(t, "")
	for name, uri := range map[string]string{"Mailbox": mailURI, "Ledger": "urn:example:ledger"} {
		_, err := s.provider.Resources.Add(t.Context(), policy.Operator(), resources.Registration{URI: uri, Name: name})
		if err != nil {
			t.Fatal(err)
		}
	}
	v := s.as(t, "alice")
	v.post(
		t, "/o/applications/register/", "name", "App", "client_type", "public", "grant_type", "authorization_code",
		"redirect_uris", "https://app.example.com/cb", "scope", "read", "resources", "https://unknown.example/\n"+mailURI,
	).wants(
		t, 422, `href="#resources"`, "There is no resource https://unknown.example/",
		"https://unknown.example/\nhttps://mail.example/v1?a=b&amp;c=d</textarea>",
	)
	path, _ := registered(t, v, "resources", "urn:example:ledger\r\n"+mailURI)
	v.get(t, path).wants(
		t, 200, `<code dir="ltr">urn:example:ledger</code> <span class="tag">Default</span>`,
		`<code dir="ltr">https://mail.example/v1?a=b&amp;c=d</code></li>`,
	)
	v.get(t, path+"update/").wants(t, 200, "urn:example:ledger\nhttps://mail.example/v1?a=b&amp;c=d</textarea>")
	v.follow(t, v.save(
		t, path, "name", "App", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
		"https://app.example.com/cb", "scope", "read", "hash_client_secret", "on", "access_token_format", "opaque",
		"resources", "",
	)).wants(t, 200, "Your changes are saved.")
	if page := v.get(t, path); strings.Contains(page.body, "<dt>Resources</dt>") {
		t.Error("the application still has resources")
	}
}

// A list that names every scope of this server is not every scope: saving the page for another field must not make it
// that.
func TestAttackSavedPageWidensAList(t *testing.T) {
	s := newSite(t, "")
	root := s.as(t, "root")
	all := s.provider.ResourceScopes()
	_, err := s.provider.Resources.Add(
		t.Context(),
		policy.Operator(),
		resources.Registration{URI: mailURI, Name: "Mail", Scopes: all},
	)
	if err != nil {
		t.Fatal(err)
	}
	form := []string{"name", "Mailbox", "version", versionIn(t, root.get(t, at("change", mailURI)))}
	for _, scope := range all {
		form = append(form, "scopes", scope)
	}
	root.post(t, at("change", mailURI), form...).wants(t, 303)
	if got := s.resource(t, mailURI); got.Name != "Mailbox" || got.Scopes != strings.Join(all, " ") {
		t.Errorf("%+v", got)
	}
}
