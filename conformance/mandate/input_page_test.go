package mandate

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile returns values that often cause errors in input fields. A request has each
// parameter only once.
func hostile() []string {
	return []string{"", " ", "\x01\x1f\x7f", "a\r\nSet-Cookie: x=y", "a\ntime=2026-01-01T00:00:00Z level=ERROR msg=forged",
		"\u202eevil", "\u0000", "\xff\xfe", "\xed\xa0\x80",
		"<script>alert(2)</script>", `"><script>alert(2)</script>`, "javascript:alert(2)", "{{.}}", "${7*7}", "' OR '1'='1",
		"'; DROP TABLE users; --", "../../etc/passwd", "%s%n%d", "%00",
		"\x1b[31mred", "漢字", "İ", "e\u0301", strings.Repeat("a\u0301", 200), strings.Repeat("x", 3000),
		strings.Repeat("漢", 2000), "-1", "0", "1e9", "NaN", "9223372036854775808", "0x10", "true", "null", "[]", "on"}
}

// every returns each n-th value, starting at one. If an answer needs a password hash,
// the fields of a form share the values.
func every(n, from int, values []string) []string {
	var some []string
	for i := from % n; i < len(values); i += n {
		some = append(some, values[i])
	}
	return some
}

// badForms puts invalid values into every field of every form of the pages, one at a
// time.
func (v *fixture) badForms(t *testing.T) {
	for _, value := range hostile() {
		v.secrets.name(value) // every field gets it: that of a password, and that of a name
	}
	root, bob := v.signedIn(t, v.admin), v.signedIn(t, v.bob)
	victim := v.application(t, "--name", "Victim", "--owner", v.bob.Name, "--grant", "authorization_code",
		"--redirect-uri", "https://victim.example/back")
	l := &life{fixture: v, root: root, person: v.person(t, "victim")}
	registration := url.Values{"name": {"Victim"}, "client_type": {"confidential"}, "grant_type": {"authorization_code"},
		"redirect_uris": {"https://victim.example/back"},
		"scope":         {"read"}, "hash_client_secret": {"on"}, "access_token_lifetime": {"60"},
		"refresh_token_lifetime": {"60"}}
	root.send(t, "/admin/resources/new/", params("name", "Victim", "uri", "urn:example:victim", "scopes", "read"))
	api := params("name", "New", "uri", "urn:example:new", "scopes", "read", "token_format", "", "algorithm", "",
		"access_token_lifetime", "60", "introspectors", "")
	user := params("username", l.person.Name, "email", "victim@example.org", "first_name", "V", "last_name", "W",
		"password", "", "group", "", "active", "on")
	for _, f := range []struct {
		path string
		tab  *browser
		form url.Values
	}{
		{"/login/", nil, params("username", v.bob.Name, "password", v.bob.Password, "next", "/account/")},
		{"/o/consent/", bob, params("ticket", bob.ticket(t, v.phone), "decision", "approve")},
		{"/account/password/", bob, params("current_password", "not the password", "new_password", "")},
		{"/account/sessions/x/end/", bob, params("x", "")},
		{"/account/applications/x/revoke/", bob, params("x", "")},
		{"/o/applications/register/", bob, registration},
		{"/o/applications/" + victim.ID + "/update/", bob, with(registration, "version", "0")},
		{"/o/applications/" + victim.ID + "/rotate/", bob, params("overlap", "0")},
		{"/admin/users/new/", root, with(user, "username", "", "password", "")},
		{l.userPath(t), root, user},
		{"/admin/groups/", root, params("name", "")},
		{"/admin/resources/new/", root, api},
		{"/admin/resources/change/?uri=urn:example:victim", root, with(api, "uri", "", "version", "0")},
		{"/setup/x/", root, params("username", "x", "password", "")},
		{"/logout/", nil, params("x", "")},
	} {
		as := auth(sameSite)
		if f.tab != nil {
			session := f.tab.cookie(t, "/", "mandate_session")
			as = func(r *http.Request, form url.Values) {
				sameSite(r, form)
				withCookie("mandate_session", session)(r, form)
			}
		}
		t.Run(strings.ReplaceAll(f.path, "/", "."), func(t *testing.T) {
			for i, name := range slices.Sorted(maps.Keys(f.form)) {
				values := hostile()
				if f.path == "/login/" || f.path == "/account/password/" {
					values = every(3, i, values)
				}
				for _, text := range values {
					a := v.post(t, f.path, afar(as), with(f.form, name, text))
					a.sane(t, fmt.Sprintf("%s %s=%.40q", f.path, name, text))
					if utf8.ValidString(text) && !strings.ContainsRune(text, 0) || f.path == "/logout/" ||
						strings.Contains(f.path, "/x/") {
						continue
					}
					// No text that a database cannot store reaches it.
					if a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity {
						t.Errorf("%s %s=%q: %d", f.path, name, text, a.Status)
					}
				}
				v.brokenForms(t, f.path, as, f.form, name)
			}
			for _, kind := range []string{"", "application/json", "text/plain", "multipart/form-data; boundary=x"} {
				a := v.raw(t, f.path, as, kind, f.form.Encode())
				a.sane(t, f.path+" with Content-Type "+kind)
			}
		})
	}
	// After all attempts, the same people can sign in and the same values are valid.
	v.signedIn(t, v.bob)
	v.signedIn(t, l.person)
	if a := v.post(t, "/o/token/", victim.auth(), refreshForm("mrt_x")); a.Status >= 500 {
		t.Errorf("the application that was changed: %d %s", a.Status, a.Body)
	}
}

// brokenForms sends bodies that are not valid forms, or too large.
func (v *fixture) brokenForms(t *testing.T, path string, as auth, form url.Values, name string) {
	t.Helper()
	value, others := url.QueryEscape(form.Get(name)), rest(form, name)
	for what, body := range map[string]string{
		"twice": others + name + "=" + value + "&" + name + "=" + value, "without": strings.TrimSuffix(others, "&"),
		"bare":           others + name,
		"half an escape": others + name + "=%", "no escape": others + name + "=%zz", "a name that is no text": others +
			"%ff=1", "an empty name": others + "=1",
		"100 KB": others + name + "=" + strings.Repeat("x", 100<<10), "40,000 fields": others + strings.Repeat("a&", 30000),
	} {
		a := v.raw(t, path, afar(as), formType, body)
		a.sane(t, path+" "+name+" "+what)
		reads := path != "/logout/" && !strings.Contains(path, "/end/") && !strings.Contains(path, "/revoke/") &&
			!strings.Contains(path, "/setup/")
		switch {
		case reads && what == "100 KB" && a.Status != http.StatusRequestEntityTooLarge:
			t.Errorf("%s %s of 100 KB: %d", path, name, a.Status)
		case reads && strings.Contains(what, "escape") && a.Status != http.StatusBadRequest:
			t.Errorf("%s %s, %s: %d", path, name, what, a.Status)
		case reads && what == "twice" && a.Status != http.StatusBadRequest &&
			!slices.Contains([]string{"grant_type", "scope", "scopes", "group"}, name):
			t.Errorf("%s %s twice: %d", path, name, a.Status)
		}
	}
}

// badAPI: the sample API answers in JSON, with each error under the name of its field.
func (v *fixture) badAPI(t *testing.T) {
	writer := v.mustToken(t, v.web.auth(), params("grant_type", "client_credentials", "scope", "read write groups"))
	form := params("username", "", "password", "a password of some length", "scope", "write")
	for i, name := range slices.Sorted(maps.Keys(form)) {
		for n, text := range every(3, i, append([]string{"", "", ""}, hostile()...)) {
			sent := with(form, "username", fmt.Sprintf("made%d%s", n, name), name, text)
			a := v.post(t, "/users/", bearer(writer.AccessToken), sent)
			a.sane(t, fmt.Sprintf("POST /users/ %s=%.40q", name, text))
			if a.Status != http.StatusCreated && a.Status != http.StatusBadRequest {
				t.Errorf("POST /users/ %s=%.40q: %d %s", name, text, a.Status, a.Body)
			}
			if text == "" && name != "scope" && !strings.Contains(a.Body, `"`+name+`"`) {
				t.Errorf("POST /users/ without %s does not name it: %s", name, a.Body)
			}
		}
		v.raw(t, "/users/", bearer(writer.AccessToken), formType, rest(form, name)+name+"=%zz").sane(t,
			"POST /users/ "+name+"=%zz")
		if a := v.raw(t, "/users/", bearer(writer.AccessToken), formType,
			rest(form, name)+name+"="+strings.Repeat("x", 100<<10)); a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("POST /users/ %s of 100 KB: %d", name, a.Status)
		}
	}
	for _, kind := range []string{"application/json", "", "text/plain"} {
		a := v.raw(t, "/users/", bearer(writer.AccessToken), kind, `{"username":"x"}`)
		a.sane(t, "POST /users/ with Content-Type "+kind)
		if a.Status < 400 {
			t.Errorf("POST /users/ with Content-Type %q: %d", kind, a.Status)
		}
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=x", "limit=1001", "limit=99999999999999999999",
		"offset=-1", "offset=x", "offset=9999999999999", "limit=%zz", "limit=1&limit=2", "limit=1;x", "limit=%00"} {
		a := v.get(t, "/users/?"+query, bearer(writer.AccessToken))
		a.sane(t, "GET /users/?"+query)
		if a.Status != http.StatusBadRequest {
			t.Errorf("GET /users/?%s: %d %.100s", query, a.Status, a.Body)
		}
	}
	for _, id := range []string{"0", "-1", "x", "1x", "01x", "999999999", "99999999999999999999", "9223372036854775807",
		"%00", "%ff", "%2e%2e", "1%00", "1.0", "0x1", "+1", "%201", "' OR 1=1", "1/2"} {
		a := v.get(t, "/users/"+strings.ReplaceAll(id, " ", "%20")+"/", bearer(writer.AccessToken))
		a.sane(t, "GET /users/"+id+"/")
		if a.Status != http.StatusNotFound && id != "+1" {
			t.Errorf("GET /users/%s/: %d %.100s", id, a.Status, a.Body)
		}
	}
}

// badAddresses: paths and queries of the pages.
func (v *fixture) badAddresses(t *testing.T) {
	session := withCookie("mandate_session", v.signedIn(t, v.admin).cookie(t, "/", "mandate_session"))
	for _, id := range []string{"x", "%00", "%ff", "%2e%2e", "%2f", "%5c", "x%0d%0aSet-Cookie:x=y",
		"%3Cscript%3Ealert(1)%3C/script%3E", "%E2%80%AE", "'", strings.Repeat("x", 3000), "%zz", "*", "x;y", "x%3fy"} {
		for _, path := range []string{"/o/applications/{}/", "/o/applications/{}/update/", "/o/applications/{}/rotate/",
			"/o/applications/{}/revoke/", "/o/applications/{}/delete/", "/admin/users/{}/",
			"/admin/users/{}/delete/", "/admin/groups/{}/delete/", "/setup/{}/", "/{}", "/o/{}/", "/.well-known/{}"} {
			address := strings.ReplaceAll(path, "{}", id)
			if id == "%zz" {
				continue // no client sends it; badMessages does
			}
			a := v.get(t, address, session)
			a.sane(t, address)
			if a.Status != http.StatusNotFound {
				t.Errorf("GET %.80s: %d", address, a.Status)
			}
		}
		for _, path := range []string{"/account/sessions/{}/end/", "/account/applications/{}/revoke/",
			"/o/applications/{}/delete/", "/admin/users/{}/delete/", "/admin/groups/{}/delete/"} {
			address := strings.ReplaceAll(path, "{}", id)
			if id == "%zz" {
				continue
			}
			a := v.post(t, address, func(r *http.Request, form url.Values) { sameSite(r, form); session(r, form) }, nil)
			a.sane(t, address)
			if a.Status != http.StatusNotFound {
				t.Errorf("POST %.80s: %d", address, a.Status)
			}
		}
		for _, path := range []string{"/admin/resources/change/?uri=", "/admin/resources/delete/?uri="} {
			for method, a := range map[string]answer{
				"GET":  v.get(t, path+id, session),
				"POST": v.post(t, path+id, func(r *http.Request, form url.Values) { sameSite(r, form); session(r, form) }, nil),
			} {
				a.sane(t, method+" "+path+id)
				if a.Status != http.StatusBadRequest && a.Status != http.StatusNotFound {
					t.Errorf("%s %.80s: %d", method, path+id, a.Status)
				}
			}
		}
	}
	for _, path := range []string{"/o/applications/", "/admin/users/", "/admin/resources/"} {
		for _, query := range []string{"page=0", "page=-1", "page=x", "page=99999999999999999999", "page=999",
			"page=1&page=2", "page=%00", "q=%ff", "q=%00", "q=%zz", "q=a&q=b", "q=" + strings.Repeat("x", 3000)} {
			a := v.get(t, path+"?"+query, session)
			a.sane(t, path+"?"+query)
			if a.Status != http.StatusBadRequest && a.Status != http.StatusNotFound {
				t.Errorf("GET %s?%.40s: %d", path, query, a.Status)
			}
		}
		for _, q := range []string{"%", "_", "!", "\\", "'", "%25%25%25", "<script>alert(1)</script>", "漢", "İ", "\u202e"} {
			a := v.get(t, path+"?q="+url.QueryEscape(q), session)
			a.sane(t, path+"?q="+q)
			if a.Status != http.StatusOK {
				t.Errorf("GET %s?q=%s: %d", path, q, a.Status)
			}
		}
	}
	for _, cookie := range []string{"", "x", "\"", strings.Repeat("x", 3000), "%00", "=", strings.Repeat("=", 100)} {
		a := v.get(t, "/account/", func(r *http.Request, _ url.Values) {
			r.Header.Set("Cookie", "mandate_session="+cookie+"; mandate_notice="+cookie+"; mandate_device="+cookie+
				"; mandate_secret="+cookie)
		})
		a.sane(t, "cookie "+cookie)
		if a.Status != http.StatusSeeOther {
			t.Errorf("cookie %.20q: %d", cookie, a.Status)
		}
	}
}
