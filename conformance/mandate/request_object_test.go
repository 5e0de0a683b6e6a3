package mandate

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Request objects (RFC 9101), by value and pushed, on both databases.

// objectSigner registers an application that signs request objects, with keys of each algorithm. args
// are more flags.
func (s *server) objectSigner(t testing.TB, name string, args ...string) keyHolder {
	t.Helper()
	keys := newStatementIssuer(t, name)
	return keyHolder{s.application(t,
		append([]string{"--name", name, "--client-id", name, "--grant", "authorization_code", "--skip-consent",
			"--redirect-uri", "https://" + name + ".example/back",
			"--redirect-uri", "https://" + name + ".example/other", "--jwks", keysFile(t, keys.keySet(t))}, args...)...), keys}
}

// enclosed returns the claims of a good request object with these parameters. more replaces
// claims, and nil removes one.
func (s *server) enclosed(app application, form url.Values, more member) member {
	now := time.Now().Unix()
	claims := member{"iss": app.ClientID, "aud": s.Issuer, "exp": now + 300, "nbf": now}
	for name := range form {
		claims[name] = form.Get(name)
	}
	maps.Copy(claims, more)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// objectType is the typ of a request object, in the form that signHeader adds.
var objectType = member{"typ": "oauth-authz-req+jwt"}

// object returns a good request object, but for these claims and members of the header.
func (s *server) object(t testing.TB, a keyHolder, form url.Values, claims, header member) string {
	t.Helper()
	whole := maps.Clone(objectType)
	maps.Copy(whole, header)
	if alg, has := header["alg"]; has && header["kid"] == nil {
		whole["kid"] = alg
	}
	return a.keys.sign(t, s.enclosed(a.application, form, claims), whole)
}

// sending returns the address of an authorization request with a request object. more are
// parameters beside it.
func (s *server) sending(app application, object string, more ...string) string {
	return "/o/authorize/?" + with(params("client_id", app.ClientID, "request", object), more...).Encode()
}

// openIDOutside are the parameters that OIDC Core §6.1 requires beside a request object.
var openIDOutside = []string{"response_type", "code", "scope", "openid"}

func TestRequestObjects(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		a := v.objectSigner(t, "signer")
		t.Run("flow", func(t *testing.T) { v.objectFlow(t, a) })
		t.Run("outside", func(t *testing.T) { v.objectOutside(t, a) })
		t.Run("refused", func(t *testing.T) { v.objectRefused(t, a) })
		t.Run("page", func(t *testing.T) { v.objectPage(t, a) })
		t.Run("pushed", func(t *testing.T) { v.objectPushed(t, a) })
		t.Run("required", func(t *testing.T) { v.objectRequired(t, a) })
		t.Run("late", func(t *testing.T) { v.objectLate(t, a) })
	})
}

// objectFlow follows a request object from the browser to the tokens, by each algorithm.
func (v *fixture) objectFlow(t *testing.T, a keyHolder) {
	b := v.signedIn(t, v.alice)
	for what, header := range map[string]member{"ES256": nil, "PS256": {"alg": "PS256"}, "EdDSA": {"alg": "EdDSA"},
		"RS256": {"alg": "RS256"}, "JWT": {"typ": "JWT"}, "no type": {"typ": ""},
		"the whole media type":       {"typ": "application/OAuth-Authz-Req+JWT"},
		"keys in the header, unused": {"jku": "https://attacker.example/keys", "x5u": "https://attacker.example/x"}} {
		form, verifier := v.requestFor(t, a.application, "scope", "read", "state", "a & b", "redirect_uri",
			"https://signer.example/other")
		b.open(t, v.sending(a.application, v.object(t, a, form, nil, header)))
		if b.Away == nil || !strings.HasPrefix(b.Away.String(), "https://signer.example/other?") ||
			b.Away.Query().Get("state") != "a & b" {
			t.Errorf("%s: %d, sent to %v\n%.800s", what, b.Status, b.Away, b.Body)
			continue
		}
		app := a.application
		app.RedirectURI = form.Get("redirect_uri")
		if got := v.redeem(t, app, b.Away.Query().Get("code"), verifier); got.Scope != "read" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	form, verifier := v.requestFor(t, a.application, "scope", "openid", "nonce", "n")
	object := v.object(t, a, form,
		member{"max_age": 3600, "claims": member{"id_token": member{"email": nil}},
			"aud": []string{"https://other.example", v.Issuer}}, nil)
	b.open(t, v.sending(a.application, object, openIDOutside...))
	if b.Away == nil || v.redeem(t, a.application, b.Away.Query().Get("code"), verifier).IDToken == "" {
		t.Errorf("OpenID Connect: %d, sent to %v\n%.800s", b.Status, b.Away, b.Body)
	}
	// A form of another site may send it too.
	form, _ = v.requestFor(t, a.application, "scope", "read")
	posted := v.post(t, "/o/authorize/", nobody,
		params("client_id", a.ClientID, "request", v.object(t, a, form, nil, nil)))
	b.open(t, posted.Header.Get("Location"))
	if b.Away == nil || b.Away.Query().Get("code") == "" {
		t.Errorf("by POST: %d, sent to %v", b.Status, b.Away)
	}
}

// objectOutside checks that the parameters beside the object do not count, except those that
// must be there.
func (v *fixture) objectOutside(t *testing.T, a keyHolder) {
	b := v.signedIn(t, v.alice)
	form, verifier := v.requestFor(t, a.application, "scope", "read", "state", "inside")
	b.open(t, v.sending(a.application, v.object(t, a, form, nil, nil), "state", "outside", "scope", "write",
		"redirect_uri", "https://evil.example/", "response_mode", "form_post", "prompt", "none", "nonce", "outside",
		"code_challenge", "x"))
	if b.Away == nil || b.Away.Query().Get("state") != "inside" ||
		v.redeem(t, a.application, b.Away.Query().Get("code"), verifier).Scope != "read" {
		t.Errorf("parameters outside: %d, sent to %v", b.Status, b.Away)
	}
	b.open(t, v.sending(a.application, v.object(t, a, with(form, "state", ""), nil, nil), "state", "outside"))
	if b.Away == nil || b.Away.Query().Has("state") {
		t.Errorf("the state outside is used: %v", b.Away)
	}
	// What the object lacks is missing, although it stands outside.
	b.open(t, v.sending(a.application, v.object(t, a, with(form, "code_challenge", ""), nil, nil), "code_challenge",
		form.Get("code_challenge")))
	if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" || b.Away.Query().Get("state") != "inside" {
		t.Errorf("no challenge inside: %d, sent to %v", b.Status, b.Away)
	}
	openID := v.object(t, a, with(form, "scope", "openid"), nil, nil)
	// RFC 9101 §5: nothing is needed outside, also for OpenID Connect.
	for what, outside := range map[string][]string{
		"nothing":          nil,
		"no scope":         {"response_type", "code"},
		"no openid":        {"response_type", "code", "scope", "read"},
		"no response_type": {"scope", "openid"},
	} {
		back := b.authorize(t, v.sending(a.application, openID, outside...), v.alice, "approve")
		if back.Query().Get("code") == "" || back.Query().Get("state") != "inside" {
			t.Errorf("OpenID Connect with %s outside: sent to %v", what, back)
		}
	}
	b.open(t, v.sending(a.application, openID, "response_type", "token", "scope", "openid"))
	if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" || b.Away.Query().Get("state") != "inside" {
		t.Errorf("OpenID Connect with another response_type outside: %d, sent to %v", b.Status, b.Away)
	}
}

// badObjects returns objects of which one thing is wrong.
func (v *fixture) badObjects(t testing.TB, a keyHolder, form url.Values) map[string]string {
	now := time.Now().Unix()
	objects := map[string]string{"not a JWT": "x", "encrypted": "a.b.c.d.e", "two parts": "a.b",
		"a line break": v.object(t, a, form, nil, nil) + "\n"}
	for what, one := range map[string][2]member{
		"another issuer":         {{"iss": "other"}, nil},
		"no issuer":              {{"iss": ""}, nil},
		"another audience":       {{"aud": "https://other.example"}, nil},
		"the PAR endpoint":       {{"aud": v.Issuer + "/par/"}, nil},
		"no audience":            {{"aud": nil}, nil},
		"another client":         {{"client_id": v.rival.ClientID}, nil},
		"no client":              {{"client_id": nil}, nil},
		"sub is the client":      {{"sub": a.ClientID}, nil},
		"expired":                {{"exp": now - 1}, nil},
		"exp is text":            {{"exp": "1999999999"}, nil},
		"nbf 70 s ahead":         {{"nbf": now + 70}, nil},
		"iat 70 s ahead":         {{"iat": now + 70}, nil},
		"an object inside":       {{"request": "e30.e30."}, nil},
		"a request URI inside":   {{"request_uri": "https://signer.example/object"}, nil},
		"scope is a list":        {{"scope": []string{"read"}}, nil},
		"state is a number":      {{"state": 7}, nil},
		"claims is text":         {{"claims": "{}"}, nil},
		"typ of an assertion":    {nil, {"typ": "client-authentication+jwt"}},
		"typ of an access token": {nil, {"typ": "at+jwt"}},
		"typ of a DPoP proof":    {nil, {"typ": "dpop+jwt"}},
		"crit":                   {nil, {"crit": []string{"exp"}}},
		"an unknown kid":         {nil, {"kid": "unknown"}},
		"the kid of another key": {nil, {"kid": "EdDSA"}},
		"no kid, two RSA keys":   {nil, {"alg": "RS256", "kid": ""}},
	} {
		objects[what] = v.object(t, a, form, one[0], one[1])
	}
	return objects
}

// objectRefused sends bad objects. The client and the redirect URI are known without the
// object, so the client gets the error.
func (v *fixture) objectRefused(t *testing.T, a keyHolder) {
	form, _ := v.requestFor(t, a.application, "scope", "read", "state", "s")
	b := v.signedIn(t, v.alice)
	for what, object := range v.badObjects(t, a, form) {
		b.open(t, v.sending(a.application, object, "redirect_uri", a.RedirectURI, "state", "outside"))
		if b.Away == nil || b.Away.Query().Get("error") != "invalid_request_object" ||
			b.Away.Query().Get("state") != "outside" || b.Away.Query().Get("iss") != v.Issuer ||
			!strings.HasPrefix(b.Away.String(), a.RedirectURI+"?") {
			t.Errorf("%s: %d, sent to %v", what, b.Status, b.Away)
		}
		if err := v.post(t, "/o/par/", a.auth(), params("request", object)).refused(400,
			"invalid_request_object"); err != nil {
			t.Errorf("%s, pushed: %v", what, err)
		}
	}
	good := v.object(t, a, form, nil, nil)
	for what, more := range map[string]string{
		"a request URI too": "&request_uri=" + url.QueryEscape("https://signer.example/object"),
		"two objects":       "&request=" + good,
	} {
		b.open(t, v.sending(a.application, good, "redirect_uri", a.RedirectURI)+more)
		if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" {
			t.Errorf("%s: %d, sent to %v", what, b.Status, b.Away)
		}
	}
}

// objectPage sends requests that say nowhere where an error may go.
func (v *fixture) objectPage(t *testing.T, a keyHolder) {
	form, _ := v.requestFor(t, a.application, "scope", "read")
	b := v.signedIn(t, v.alice)
	for what, address := range map[string]string{
		"no redirect URI outside, and two registered": v.sending(a.application, v.object(t, a, form, member{"exp": 1}, nil)),
		"another redirect URI outside": v.sending(a.application, v.object(t, a, form, member{"exp": 1}, nil),
			"redirect_uri", "https://evil.example/"),
	} {
		b.open(t, address)
		b.wantPage(t, what, "invalid_request_object")
	}
	b.open(t, "/o/authorize/?request="+v.object(t, a, form, nil, nil))
	b.wantPage(t, "no client_id outside", "client_id is missing")
	// The object is good, and what it encloses is not.
	b.open(t, v.sending(a.application, v.object(t, a, with(form, "redirect_uri", "https://evil.example/"), nil, nil),
		"redirect_uri", a.RedirectURI))
	b.wantPage(t, "a redirect URI inside that is not registered", "not registered")
	b.open(t, v.sending(a.application, v.object(t, a, with(form, "redirect_uri", ""), nil, nil), "redirect_uri",
		a.RedirectURI))
	b.wantPage(t, "no redirect URI inside", "redirect_uri is missing")
}

// objectPushed pushes objects (RFC 9126 §3).
func (v *fixture) objectPushed(t *testing.T, a keyHolder) {
	form, verifier := v.requestFor(t, a.application, "scope", "openid read", "state", "inside", "nonce", "n")
	object := v.object(t, a, form, nil, nil)
	b := v.signedIn(t, v.alice)
	for what, as := range map[string]auth{"basic": a.auth(), "body": body(a.ClientID, a.ClientSecret)} {
		pushed := v.post(t, "/o/par/", as, params("request", object))
		if pushed.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", what, pushed.Status, pushed.Body)
		}
		b.open(t, v.opening(a.application, pushed.JSON(t)["request_uri"].(string))+"&state=outside&scope=write")
		if b.Away == nil || b.Away.Query().Get("state") != "inside" {
			t.Fatalf("%s: %d, sent to %v", what, b.Status, b.Away)
		}
	}
	if got := v.redeem(t, a.application, b.Away.Query().Get("code"), verifier); got.Scope != "openid read" ||
		got.IDToken == "" {
		t.Errorf("%+v", got)
	}
	for what, c := range map[string]struct {
		more []string
		as   auth
		code string
	}{
		"a parameter beside the object": {[]string{"request", object, "state", "s"}, a.auth(), "invalid_request"},
		"the same parameter beside it": {[]string{"request", object, "redirect_uri", a.RedirectURI}, a.auth(),
			"invalid_request"},
		"a request URI beside it": {[]string{"request", object, "request_uri", "https://signer.example/object"},
			a.auth(), "invalid_request"},
		"pushed by another client": {[]string{"request", object}, v.rival.auth(), "invalid_request_object"},
		"a mistake in what it encloses": {
			[]string{"request", v.object(t, a, with(form, "response_type", "token"), nil, nil)}, a.auth(),
			"unsupported_response_type"},
		"no PKCE in what it encloses": {[]string{"request", v.object(t, a, with(form, "code_challenge", ""), nil, nil)},
			a.auth(), "invalid_request"},
		"another redirect URI inside it": {
			[]string{"request", v.object(t, a, with(form, "redirect_uri", "https://evil.example/"), nil, nil)}, a.auth(),
			"invalid_request"},
	} {
		if err := v.post(t, "/o/par/", afar(c.as), params(c.more...)).refused(400, c.code); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// objectLate checks that an object expires, and that a browser which opened it in time may take
// longer for the login.
func (v *fixture) objectLate(t *testing.T, a keyHolder) {
	form, verifier := v.requestFor(t, a.application, "scope", "read")
	address := v.sending(a.application, v.object(t, a, form, member{"exp": time.Now().Unix() + 3}, nil), "redirect_uri",
		a.RedirectURI)
	b, signedIn := v.browser(t), v.signedIn(t, v.bob)
	b.open(t, address)
	if !b.shows("password") {
		t.Fatalf("no login: %d %s", b.Status, b.URL)
	}
	next := b.URL.Query().Get("next")
	waitFor(t, "the object expires", func() bool {
		signedIn.open(t, address)
		return signedIn.Away != nil && signedIn.Away.Query().Get("error") == "invalid_request_object"
	})
	signedIn.open(t, next)
	if signedIn.Away == nil || signedIn.Away.Query().Get("error") != "invalid_request_object" {
		t.Errorf("the address after the login, in another browser: %d, sent to %v", signedIn.Status, signedIn.Away)
	}
	b.logIn(t, v.alice)
	if b.Away == nil || b.Away.Query().Get("code") == "" {
		t.Fatalf("a person who needed longer for the login is refused: %d, sent to %v", b.Status, b.Away)
	}
	v.redeem(t, a.application, b.Away.Query().Get("code"), verifier)
}

// objectRequired checks that an application can have to sign its requests, and by one algorithm
// alone (RFC 9101 §10.5, OIDC Registration §2).
func (v *fixture) objectRequired(t *testing.T, other keyHolder) {
	a := v.objectSigner(t, "required", "--require-signed-request-object", "--request-object-algorithm", "PS256")
	v.mustCLI(t, "", "application", "update", a.ClientID, "--auth-method", "client_secret_basic") // it keeps the rest
	form, verifier := v.requestFor(t, a.application, "scope", "read", "state", "s&1", "prompt", "consent")
	b := v.signedIn(t, v.alice)
	b.open(t, "/o/authorize/?"+form.Encode())
	b.sentBack(t, "without an object", "invalid_request")
	if err := v.push(t, a.application, form).refused(400, "invalid_request"); err != nil {
		t.Error("pushed without an object:", err)
	}
	for _, algorithm := range []string{"ES256", "EdDSA", "RS256"} {
		object := v.object(t, a, form, nil, member{"alg": algorithm})
		if err := v.post(t, "/o/par/", a.auth(), params("request", object)).refused(400,
			"invalid_request_object"); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
	object := v.object(t, a, form, nil, member{"alg": "PS256"})
	pushed := v.post(t, "/o/par/", a.auth(), params("request", object))
	if pushed.Status != http.StatusCreated {
		t.Fatalf("pushed: %d %s", pushed.Status, pushed.Body)
	}
	for what, address := range map[string]string{"sent": v.sending(a.application, object),
		"pushed": v.opening(a.application, pushed.JSON(t)["request_uri"].(string))} {
		// The consent page keeps that the request was signed.
		b.open(t, address)
		b.decide(t, "approve")
		if b.Away == nil || b.Away.Query().Get("code") == "" {
			t.Fatalf("%s: %d, sent to %v", what, b.Status, b.Away)
		}
		v.redeem(t, a.application, b.Away.Query().Get("code"), verifier)
	}
	if r := v.cli(t, "", "application", "add", "--name", "x", "--grant", "client_credentials",
		"--require-signed-request-object"); r.code == 0 {
		t.Error("an application without keys must sign")
	}
	for flag, value := range map[string]string{"--request-object-algorithm": "HS256", "--response-algorithm": "none",
		"--response-mode": "fragment.jwt", "--request-uri": "http://signer.example/object"} {
		if r := v.cli(t, "", "application", "update", other.ClientID, flag, value); r.code == 0 {
			t.Errorf("%s %s is accepted", flag, value)
		}
	}
	if r := v.cli(t, "", "application", "update", other.ClientID, "--request-uri",
		"https://signer.example/object"); r.code == 0 ||
		!strings.Contains(r.stderr, "--request-uri: This server reads no request objects at an address") {
		t.Errorf("an address of request objects that nobody reads: %d %s", r.code, r.stderr)
	}
}

func TestSignedRequestsRequired(t *testing.T) {
	t.Parallel()
	v := newFixture(t, options{provider: []string{"OIDC_ENABLED: true", "REQUIRE_SIGNED_REQUEST_OBJECT: true",
		"OPEN_CLIENTS: [registration]"}})
	if v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t)["require_signed_request_object"] != true {
		t.Error("the metadata does not say so")
	}
	a := v.objectSigner(t, "signer")
	form, _ := v.requestFor(t, a.application, "scope", "read", "state", "s&1")
	b := v.signedIn(t, v.alice)
	b.open(t, "/o/authorize/?"+form.Encode())
	b.sentBack(t, "without an object", "invalid_request")
	b.open(t, v.sending(a.application, v.object(t, a, form, nil, nil)))
	if b.Away == nil || b.Away.Query().Get("code") == "" {
		t.Errorf("with an object: %d, sent to %v", b.Status, b.Away)
	}
	said := v.registers(t, nobody, member{"redirect_uris": []string{"http://127.0.0.1/cb"}, "client_name": "Tool",
		"token_endpoint_auth_method": "none", "jwks": json.RawMessage(a.keys.keySet(t)),
		"require_signed_request_object": true, "request_object_signing_alg": "ES256",
		"request_uris": []string{"https://tool.example/r"}, "authorization_signed_response_alg": "PS256",
		"response_modes": []string{"query", "jwt", "unknown"}})
	if said["require_signed_request_object"] != true || textOf(said, "request_object_signing_alg") != "ES256" ||
		said["request_uris"] != nil || textOf(said, "authorization_signed_response_alg") != "PS256" ||
		listOf(said, "response_modes") != "query jwt" {
		t.Errorf("the registration says %v", said)
	}
	for name, value := range map[string]any{"request_object_signing_alg": "none",
		"authorization_signed_response_alg": "HS256", "response_modes": []string{"unknown"},
		"require_signed_request_object": true} {
		if err := v.registration(t, nobody,
			member{"redirect_uris": []string{"http://127.0.0.1/cb"}, "token_endpoint_auth_method": "none", name: value}).refused(
			400, "invalid_client_metadata"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
