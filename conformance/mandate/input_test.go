package mandate

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Bad input gets a 4xx that says what to change. It never causes a 5xx, never uses up a
// one-time value, is never shown as markup, and never adds a line to the log.

func TestInput(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		t.Run("parameters", v.badParameters)
		t.Run("bodies", v.badBodies)
		t.Run("credentials", v.badCredentials)
		t.Run("grant_types", v.badGrants)
		t.Run("authorization", v.badAuthorization)
		t.Run("forms", v.badForms)
		t.Run("API", v.badAPI)
		t.Run("addresses", v.badAddresses)
		t.Run("methods", v.badMethods)
		t.Run("messages", v.badMessages)
		v.wantCleanLog(t)
	})
}

// sane fails the test if a client or a person could not use the answer to bad input.
func (a answer) sane(t testing.TB, what string) {
	t.Helper()
	if a.Status >= 500 {
		t.Errorf("%.200s: %d %.300s", what, a.Status, a.Body)
	}
	if a.Header.Get("X-Content-Type-Options") != "nosniff" && a.Header.Get("X-Request-Id") != "" {
		t.Errorf("%.200s: a browser may guess what the answer is", what)
	}
	if a.Status < 400 || a.Status == http.StatusRequestHeaderFieldsTooLarge {
		return
	}
	kind := a.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "application/json"):
		var body map[string]any
		err := json.Unmarshal([]byte(a.Body), &body)
		if err != nil || len(body) == 0 {
			t.Errorf("%.200s: %d %v: %q", what, a.Status, err, a.Body)
		}
		if description, found := body["error_description"].(string); found &&
			(len(description) < 12 || strings.ContainsFunc(description, notNQSCHAR)) {
			t.Errorf("%.200s: error_description %q", what, description)
		}
	case strings.HasPrefix(kind, "text/html"):
		if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, "\x00") {
			t.Errorf("%.200s: the page has the input in it as it was", what)
		}
		if !strings.Contains(a.Body, "<h1") ||
			!strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%.200s: %d, a page without a heading or a policy:\n%s", what, a.Status, a.Body)
		}
	default:
		t.Errorf("%.200s: %d, Content-Type %q: %.200s", what, a.Status, kind, a.Body)
	}
	if a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%.200s: nothing names the request", what)
	}
}

// raw sends a body unchanged. Its parts may have any encoding.
func (s *server) raw(t testing.TB, path string, as auth, contentType, body string) answer {
	t.Helper()
	request, err := http.NewRequest("POST", s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	as(request, url.Values{})
	a, err := s.do(request)
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return a
}

const formType = "application/x-www-form-urlencoded"

// rest returns a form without one parameter, with an & at its end.
func rest(form url.Values, name string) string {
	encoded := with(form, name, "").Encode()
	if encoded != "" {
		encoded += "&"
	}
	return encoded
}

// protocolCall is a valid protocol request.
type protocolCall struct {
	name, path string
	as         auth
	form       url.Values
	required   []string
	again      bool // it works more than once
}

func (v *fixture) protocolCalls(t testing.TB) []protocolCall {
	t.Helper()
	b := v.signedIn(t, v.alice)
	credentials := params("client_id", v.web.ClientID, "client_secret", v.web.ClientSecret)
	full := func(form url.Values) url.Values {
		for name := range credentials {
			form.Set(name, credentials.Get(name))
		}
		return form
	}
	family := b.family(t, v.web, v.alice)
	asker := params("client_id", v.asker.ClientID, "client_secret", v.asker.ClientSecret, "token", family.AccessToken,
		"token_type_hint", "access_token")
	return []protocolCall{
		// The code has a challenge, so redirect_uri is optional (OAuth 2.1 draft -16).
		{"code", "/o/token/", nobody, full(b.issue(t, v.web, v.alice)), []string{"grant_type", "code", "code_verifier"},
			false},
		{"client_credentials", "/o/token/", nobody, full(params("grant_type", "client_credentials", "scope", "read")),
			[]string{"grant_type"}, true},
		{"password", "/o/token/", nobody,
			full(params("grant_type", "password", "username", v.bob.Name, "password", v.bob.Password, "scope", "read")),
			[]string{"grant_type", "username", "password"}, true},
		{"refresh", "/o/token/", nobody, full(refreshForm(b.family(t, v.web, v.alice).RefreshToken)),
			[]string{"grant_type", "refresh_token"}, false},
		{"device authorization", "/o/device_authorization/", nobody, full(params("scope", "read")), nil, true},
		{"device", "/o/token/", nobody, full(pollForm(b.approvedDevice(t, v.web).DeviceCode)),
			[]string{"grant_type", "device_code"}, false},
		{"introspection", "/o/introspect/", nobody, asker, []string{"token"}, true},
		{"revocation", "/o/revoke_token/", nobody,
			full(params("token", family.RefreshToken, "token_type_hint", "refresh_token")), []string{"token"}, true},
	}
}

// badParameters: RFC 6749 §3.2: each parameter appears once; one without a value counts
// as absent. Appendix B: parameters are in UTF-8.
func (v *fixture) badParameters(t *testing.T) {
	for _, c := range v.protocolCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			for name := range c.form {
				value, others := url.QueryEscape(c.form.Get(name)), rest(c.form, name)
				for what, parameter := range map[string]string{
					"twice the same": name + "=" + value + "&" + name + "=" + value, "twice": name + "=" + value + "&" + name + "=x",
					"twice, once empty": name + "=&" + name + "=" + value, "not UTF-8": name + "=%ff%fe",
					"an overlong encoding": name + "=%c0%80",
					"a surrogate":          name + "=%ed%a0%80", "NUL": name + "=" + value + "%00", "half an escape": name + "=%",
					"no escape":   name + "=%zz",
					"a semicolon": name + "=" + value + ";x=y",
				} {
					err := v.raw(t, c.path, afar(c.as), formType, others+parameter).refused(400, "invalid_request")
					if err != nil {
						t.Errorf("%s %s: %v", name, what, err)
					}
				}
				// RFC 9110 §15.5.14
				err := v.raw(t, c.path, afar(c.as), formType, others+name+"="+strings.Repeat("x", 100<<10)).refused(413,
					"invalid_request")
				if err != nil {
					t.Errorf("%s of 100 KB: %v", name, err)
				}
				for _, text := range []string{"\x01\x1f\x7f", "a\r\nb", "\"\\", "<script>alert(1)</script>", "漢字", "\u202e",
					strings.Repeat("a ", 20<<10), "' OR ''='", "%00"} {
					a := v.raw(t, c.path, afar(c.as), formType, others+name+"="+url.QueryEscape(text))
					a.sane(t, c.name+" "+name+" "+text)
					// Other tests cover the values of a hint, a scope or an unknown
					// parameter. Here the request must not succeed.
					if name != "token_type_hint" && name != "token" && (a.Status != 400 && a.Status != 401) {
						t.Errorf("%s %.40q: %d %s", name, text, a.Status, a.Body)
					}
				}
				v.leavesOut(t, c, name, others)
			}
			a := v.raw(t, c.path, c.as, formType, c.form.Encode())
			if a.Status != 200 {
				t.Errorf("after all of it the right request: %d %s", a.Status, a.Body)
			}
		})
	}
}

func (v *fixture) leavesOut(t *testing.T, c protocolCall, name, others string) {
	t.Helper()
	for _, body := range []string{strings.TrimSuffix(others, "&"), others + name, others + name + "="} {
		if !slices.Contains(c.required, name) && !strings.HasPrefix(name, "client_") {
			if c.again {
				if a := v.raw(t, c.path, c.as, formType, body); a.Status != 200 && c.name != "revocation" {
					t.Errorf("without %s, which is optional: %d %s", name, a.Status, a.Body)
				}
			}
			continue
		}
		status, code := 400, "invalid_request"
		if strings.HasPrefix(name, "client_") {
			status, code = 401, "invalid_client"
		}
		// RFC 7636 §4.6: a missing verifier is a wrong one.
		if name == "code_verifier" {
			code = "invalid_grant"
		}
		a := v.raw(t, c.path, afar(c.as), formType, body)
		err := a.refused(status, code)
		if err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if !strings.Contains(a.Body, name) && !strings.Contains(a.Body, "secret") {
			t.Errorf("without %s the answer does not name it: %s", name, a.Body)
		}
	}
}

// badBodies: RFC 6749 §3.2: the parameters are form-encoded in the body and nowhere
// else.
func (v *fixture) badBodies(t *testing.T) {
	form := params("grant_type", "client_credentials").Encode()
	object, err := json.Marshal(map[string]string{"grant_type": "client_credentials", "token": "x", "username": "x",
		"password": "x"})
	if err != nil {
		t.Fatal(err)
	}
	multipart := "--x\r\nContent-Disposition: form-data; name=\"grant_type\"\r\n\r\nclient_credentials\r\n--x--\r\n"
	for _, path := range []string{"/o/token/", "/o/introspect/", "/o/revoke_token/", "/o/revoke/",
		"/o/device_authorization/"} {
		for _, c := range []struct{ kind, body string }{
			{"application/json", string(object)}, {"text/json", string(object)}, {"", form}, {"text/plain", form},
			{"text/html", form},
			{"multipart/form-data; boundary=x", multipart}, {"multipart/form-data", multipart}, {"application/xml", "<a/>"},
			{formType + "x", form},
			{"application", form}, {";", form}, {formType + "; charset=\"", form}, {"*/*", form},
			{"application/json, " + formType, form},
		} {
			a := v.raw(t, path, v.asker.auth(), c.kind, c.body)
			err := a.refused(400, "invalid_request")
			if err != nil || !strings.Contains(a.Body, formType) {
				t.Errorf("%s with Content-Type %q: %v: %s", path, c.kind, err, a.Body)
			}
		}
		// RFC 6749 §2.3.1: secrets are not sent in the URL, because logs store it.
		for _, query := range []string{"?grant_type=client_credentials", "?token=x", "?client_secret=x", "?x=%zz"} {
			err := v.raw(t, path+query, v.asker.auth(), formType, form+"&token=x").refused(400, "invalid_request")
			if err != nil {
				t.Errorf("%s: %v", path+query, err)
			}
		}
		for _, body := range []string{"", "&", "&&&", "=", "=x", "x", "\x00", "\xff", "{}", "%", strings.Repeat("&", 60000),
			strings.Repeat("a=1&", 10000), form + "&%00=1", form + "&%ff=1", form + "&=1&=2"} {
			a := v.raw(t, path, v.asker.auth(), formType, body)
			a.sane(t, path+" "+body)
			if a.Status != 400 {
				t.Errorf("%s with the body %.30q: %d %s", path, body, a.Status, a.Body)
			}
		}
	}
	for _, kind := range []string{formType, strings.ToUpper(formType), formType + "; charset=UTF-8",
		formType + ";charset=utf-8"} {
		if a := v.raw(t, "/o/token/", v.web.auth(), kind, form); a.Status != 200 {
			t.Errorf("Content-Type %q: %d %s", kind, a.Status, a.Body)
		}
	}
}

// badCredentials: RFC 6749 §2.3: one method of client authentication, in a readable
// form.
func (v *fixture) badCredentials(t *testing.T) {
	form := params("grant_type", "client_credentials", "token", "x")
	header := func(values ...string) auth {
		return func(r *http.Request, _ url.Values) { r.Header["Authorization"] = values }
	}
	good := basicHeader(v.web.ClientID, v.web.ClientSecret)
	for _, path := range []string{"/o/token/", "/o/introspect/", "/o/revoke_token/", "/o/device_authorization/"} {
		for name, as := range map[string]auth{
			"two headers": header(good, good), "two headers, one empty": header(good, ""),
			"Basic and Bearer": header(good, "Bearer x"), "two Bearer": header("Bearer x", "Bearer y"),
			"header and body":        both(header(good), "client_secret", v.web.ClientSecret),
			"another id in the body": both(header(good), "client_id", v.rival.ClientID),
		} {
			err := v.post(t, path, afar(as), form).refused(400, "invalid_request")
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
			}
		}
		for _, value := range []string{"", "Basic", "Basic ", "Basic =", "Basic \t", "Basic !!!", "Basic Og==", "Basic eDo=",
			"Basic Ong=", "Basic eA==", "Basic " + good, "basic",
			"Bearer", "Bearer ", "Digest username=x", "Negotiate x", "Basic " + strings.Repeat("A", 20000),
			basicHeader("%zz", "x"), basicHeader("x", "%"), basicHeader("\xff", "\xff"),
			basicHeader("x\x00", "y"), basicHeader(v.web.ClientID, v.web.ClientSecret+"%00"),
			basicHeader(v.web.ClientID+":", v.web.ClientSecret), good + "A", good + " x"} {
			a := v.post(t, path, afar(header(value)), form)
			a.sane(t, path+" Authorization "+value)
			if a.Status != 401 || a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s, Authorization %.60q: %d, WWW-Authenticate %q: %s", path, value, a.Status,
					a.Header.Get("WWW-Authenticate"), a.Body)
			}
		}
	}
	err := v.post(t, "/o/token/", v.web.auth(),
		with(form, "client_assertion", "x.y.z", "client_assertion_type",
			"urn:ietf:params:oauth:client-assertion-type:jwt-bearer")).refused(400, "invalid_request")
	if err != nil {
		t.Errorf("an assertion: %v", err)
	}
}

func (v *fixture) badGrants(t *testing.T) {
	for _, grant := range []string{"implicit", "token", "Client_Credentials", "client_credentials ", " client_credentials",
		"client_credentials password", "authorization-code",
		"urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:token-exchange",
		"\"", "\\", "\n", "漢", "<script>alert(1)</script>", "\u202e", strings.Repeat("x", 40000)} {
		err := v.post(t, "/o/token/", v.web.auth(), params("grant_type", grant)).refused(400, "unsupported_grant_type")
		if err != nil {
			t.Errorf("%.40q: %v", grant, err)
		}
	}
	// Input in a message is shortened, so the description and the log stay short.
	for _, form := range []url.Values{params("grant_type", strings.Repeat("x", 40000)),
		params("grant_type", "client_credentials", "scope", strings.Repeat("x", 40000))} {
		if a := v.post(t, "/o/token/", v.web.auth(), form); a.Status != 400 || len(a.Body) > 1000 {
			t.Errorf("an error of %d bytes: %d", len(a.Body), a.Status)
		}
	}
	// RFC 6749 §5.2: a grant type that exists but is not allowed for this client.
	for _, form := range []url.Values{params("grant_type", "password", "username", v.bob.Name, "password", v.bob.Password),
		grantForm(v.asker, "mac_x", "x"), refreshForm("mrt_x")} {
		err := v.post(t, "/o/token/", v.asker.auth(), form).refused(400, "unauthorized_client")
		if err != nil {
			t.Errorf("%s: %v", form.Get("grant_type"), err)
		}
	}
}

func (v *fixture) badAuthorization(t *testing.T) {
	b := v.signedIn(t, v.alice)
	address, _ := v.authorizeURL(v.web, "scope", "read", "state", "s", "response_mode", "query", "prompt", "login")
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name := range at.Query() {
		others := "/o/authorize/?" + rest(at.Query(), name)
		for _, value := range []string{"", "%00", "%ff", "%zz", "%", "%0d%0aX-Injected:1", "%22%5c",
			"<script>alert(1)</script>", "%e6%bc%a2", strings.Repeat("x", 8000), strings.Repeat("%20", 3000), "'--", ";"} {
			b.open(t, others+name+"="+value)
			answer{b.Status, b.Header, b.Body}.sane(t, name+"="+value)
			if b.Header.Get("X-Injected") != "" {
				t.Errorf("%s=%s: a header is injected", name, value)
			}
		}
		for _, big := range []string{strings.Repeat("x", 100<<10)} {
			a := v.get(t, others+name+"="+big, nobody)
			if a.Status != http.StatusRequestHeaderFieldsTooLarge && a.Status != http.StatusRequestURITooLong {
				t.Errorf("%s of 100 KB: %d", name, a.Status)
			}
			a = v.raw(t, "/o/authorize/", nobody, formType, rest(at.Query(), name)+name+"="+big)
			if a.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of 100 KB by POST: %d", name, a.Status)
			}
		}
	}
	// The request is below the server's limit but too long for the redirect after a
	// login. The server says so at once.
	for _, n := range []int{17 << 10, 24 << 10, 60 << 10} {
		long := at.RawQuery + "&x=" + strings.Repeat("x", n)
		a := v.raw(t, "/o/authorize/", nobody, formType, long)
		a.sane(t, "a long request by POST")
		if a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("a request of %d bytes by POST: %d, Location of %d bytes", n, a.Status, len(a.Header.Get("Location")))
		}
		if n < 30<<10 {
			a = v.get(t, "/o/authorize/?"+long, nobody)
			a.sane(t, "a long request")
			if a.Status != http.StatusRequestURITooLong {
				t.Errorf("a request of %d bytes: %d, Location of %d bytes", n, a.Status, len(a.Header.Get("Location")))
			}
		}
	}
}

func basicHeader(id, secret string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(id, secret)
	return r.Header.Get("Authorization")
}

var lineOfLog = regexp.MustCompile(`^(time=\S+ level=\w+ msg=|There is no account yet\. |Mandate listens at )`)

// wantCleanLog fails the test if the log has a line that the server did not write.
func (s *server) wantCleanLog(t testing.TB) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		if !lineOfLog.MatchString(line) {
			t.Errorf("a line of the log that the server did not begin: %.200q", line)
		}
		if strings.Contains(line, "level=ERROR") ||
			strings.ContainsFunc(strings.TrimRight(line, "\r\n"),
				func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
			t.Errorf("%.400q", line)
		}
	}
}
