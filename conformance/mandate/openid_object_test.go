package mandate

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// OIDC Core §3.1.2.6: the error for a request object that nobody has signed is sent in the way
// that the object itself asks for. Nothing else of the object is used.
func TestOIDCCore3RefusedRequestObject(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice, app := s.somebody(t, "alice"), s.relyingParty(t)
	b := s.signIn(t, alice, "/account/")
	object := func(claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + "."
	}
	for _, test := range []struct {
		what, state, mode, object string
		post                      bool
		back                      string // the state, or 400
	}{
		{"both inside", "", "", object(`{"state":"within & more","response_mode":"form_post"}`), true, "within & more"},
		{"state inside", "", "", object(`{"state":"within"}`), false, "within"},
		{"the mode inside", "s", "", object(`{"response_mode":"form_post"}`), true, "s"},
		{"both outside too", "s", "query", object(`{"state":"within","response_mode":"form_post"}`), false, "s"},
		{"nothing inside", "s", "form_post", object(`{}`), true, "s"},
		{"no other parameter", "s", "",
			object(
				`{"redirect_uri":"https://evil.example/","client_id":"x","response_type":"x","prompt":"none login","max_age":"x"}`),
			false, "s"},
		{"a mode that there is not", "", "", object(`{"state":"within","response_mode":"fragment"}`), false, "400"},
		{"a state that is too long", "", "", object(`{"state":"` + strings.Repeat("x", 4097) + `"}`), false,
			strings.Repeat("x", 4097)},
		{"a state that is no text", "", "", object(`{"state":1,"response_mode":["form_post"]}`), false, ""},
		{"a signature", "", "", object(`{"state":"within"}`) + "c2lnbmF0dXJl", false, "within"},
		{"no JWT", "s", "", "x", false, "s"},
		{"no JSON", "s", "", "e30.e30x.", false, "s"},
		{"encrypted", "s", "", "a.b.c.d.e", false, "s"},
	} {
		b.open(t, s.mustAuthorize(app, "scope", "openid", "state", test.state, "response_mode", test.mode, "request",
			test.object))
		if test.back == "400" {
			if b.Status != http.StatusBadRequest || b.Away != nil {
				t.Errorf("%s: %d, sent to %v", test.what, b.Status, b.Away)
			}
			continue
		}
		want := params("error", "invalid_request_object", "iss", s.Issuer)
		if strings.Contains(test.what, "too long") {
			want.Set("error", "invalid_request")
		}
		if test.back != "" {
			want.Set("state", test.back)
		}
		if !test.post {
			if b.Away == nil || !strings.HasPrefix(b.Away.String(), app.RedirectURI+"?") {
				t.Errorf("%s: %d, sent to %v", test.what, b.Status, b.Away)
				continue
			}
			checkEqual(t, test.what, without(b.Away.Query(), "error_description", "error_uri"), want)
			continue
		}
		f, _ := b.find(t, "", nil)
		checkEqual(t, test.what+": to", attribute(f.node, "action"), app.RedirectURI)
		checkEqual(t, test.what, without(f.values(), "error_description", "error_uri"), want)
	}
}

// sendsObject registers a client, and reports whether it gets a code by a request object with this
// algorithm.
func (d *discovered) sendsObject(t *testing.T, algorithm string) bool {
	t.Helper()
	name := "signs" + strings.ToLower(algorithm)
	a := d.objectSigner(t, name)
	kid := strings.Replace(algorithm, "Ed25519", "EdDSA", 1)
	key := any(jwt.UnsafeAllowNoneSignatureType)
	switch {
	case a.keys.keys[kid] != nil:
		key = a.keys.keys[kid]
	case algorithm == "HS256":
		key = []byte(a.ClientSecret)
	case algorithm != "none":
		return false // the client has no such key
	}
	form, _ := d.requestFor(t, a.application, "scope", "read")
	method := jwt.GetSigningMethod(kid)
	token := jwt.NewWithClaims(method, jwt.MapClaims(d.enclosed(a.application, form, nil)))
	token.Header = member{"alg": algorithm, "kid": kid}
	object, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	d.page.open(t, d.sending(a.application, object))
	return d.page.Away != nil && d.page.Away.Query().Get("code") != ""
}
