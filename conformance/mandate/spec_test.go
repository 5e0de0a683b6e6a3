package mandate

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The requirements of the service, rule by rule. This file has the functions that the
// checks share.

// lifetime is the default lifetime of an access token in seconds.
const lifetime = 36000

// permission is the error text for a token without the required scope.
const permission = "You do not have permission to perform this action."

// object decodes a JSON object and keeps the text of its numbers: 36000 differs from
// 3.6e4 and from "36000".
func object(t testing.TB, a answer) map[string]any {
	t.Helper()
	checkType(t, a, "application/json")
	decoder := json.NewDecoder(strings.NewReader(a.Body))
	decoder.UseNumber()
	var got map[string]any
	err := decoder.Decode(&got)
	if err != nil {
		t.Fatalf("status %d, %v:\n%s", a.Status, err, a.Body)
	}
	return got
}

func checkType(t testing.TB, a answer, want string) {
	t.Helper()
	got, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || got != want {
		t.Fatalf("status %d, Content-Type %q, want %s:\n%s", a.Status, a.Header.Get("Content-Type"), want, a.Body)
	}
}

// checkUncached checks that no cache may store an answer with a token or about one.
func checkUncached(t testing.TB, a answer) {
	t.Helper()
	if got := a.Header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
}

// checkGranted checks that a token response has exactly these fields with these types.
func (s *server) checkGranted(t testing.TB, a answer, scope string, refresh bool) tokens {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("the token endpoint answered %d: %s", a.Status, a.Body)
	}
	checkUncached(t, a)
	// RFC 6749 §5.1: both headers are required.
	if got := a.Header.Get("Pragma"); got != "no-cache" {
		t.Errorf("Pragma %q, want no-cache", got)
	}
	got, read := object(t, a), s.tokens(t, a)
	want := map[string]any{"access_token": read.AccessToken, "token_type": "Bearer", "expires_in": json.Number("36000"),
		"scope": scope}
	if refresh {
		want["refresh_token"] = read.RefreshToken
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("token response (-want +got):\n%s", diff)
	}
	if read.AccessToken == "" || refresh && (read.RefreshToken == "" || read.RefreshToken == read.AccessToken) {
		t.Errorf("an empty token, or one that is both access and refresh token: %s", a.Body)
	}
	return read
}

// checkRefused checks an error of a protocol endpoint against RFC 6749 §5.2. The
// description must not be empty.
func checkRefused(t testing.TB, a answer, status int, code string) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	checkUncached(t, a)
	got := object(t, a)
	if got["error"] != code {
		t.Errorf("error %v, want %s: %s", got["error"], code, a.Body)
	}
	description, _ := got["error_description"].(string)
	if len(description) < 10 ||
		strings.ContainsFunc(description, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		t.Errorf("error_description %q, want a sentence of the characters of RFC 6749 §5.2", description)
	}
	for name := range got {
		if !slices.Contains([]string{"error", "error_description", "error_uri"}, name) {
			t.Errorf("an error has the member %s: %s", name, a.Body)
		}
	}
	// RFC 9110 §15.5.2: a 401 names the authentication scheme.
	if status == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") == "" {
		t.Error("401 without WWW-Authenticate")
	}
}

// checkDetail checks a refusal of a protected API against RFC 6750 §3: a challenge, and
// a JSON body with one text.
func checkDetail(t testing.TB, a answer, status int, code string) string {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	checkUncached(t, a)
	challenge := a.Header.Get("WWW-Authenticate")
	if !strings.HasPrefix(challenge, "Bearer ") {
		t.Errorf("WWW-Authenticate %q, want a Bearer challenge", challenge)
	}
	// RFC 6750 §3.1: a request without a token gets no error code.
	if want := `error="` + code + `"`; code != "" && !strings.Contains(challenge, want) ||
		code == "" && strings.Contains(challenge, "error=") {
		t.Errorf("WWW-Authenticate %q, want the error %q", challenge, code)
	}
	got := object(t, a)
	detail, _ := got["detail"].(string)
	if detail == "" || len(got) != 1 {
		t.Errorf("body %s, want detail alone", a.Body)
	}
	return detail
}

// checkPermission checks that a token without a scope is refused, and that the answer
// names the scope.
func checkPermission(t testing.TB, a answer, scope string) {
	t.Helper()
	detail := checkDetail(t, a, http.StatusForbidden, "insufficient_scope")
	if detail != permission {
		t.Errorf("detail %q, want %q", detail, permission)
	}
	if challenge, want := a.Header.Get("WWW-Authenticate"), `scope="`+scope+`"`; !strings.Contains(challenge, want) {
		t.Errorf("WWW-Authenticate %q, want %s", challenge, want)
	}
}

// within reports whether a NumericDate lies between two times.
func within(number any, from, to time.Time) bool {
	seconds, ok := number.(json.Number)
	if !ok {
		return false
	}
	at, err := seconds.Int64()
	return err == nil && at >= from.Unix() && at <= to.Unix()
}

// whole registers an application with all grants and an unused redirect URI.
func (s *server) whole(t testing.TB, name string, more ...string) application {
	t.Helper()
	return s.application(t,
		append([]string{"--name", name, "--grant", "authorization_code", "--grant", "client_credentials",
			"--grant", "password", "--redirect-uri", "http://127.0.0.1:8000/noexist/callback"}, more...)...)
}

// password requests tokens with a person's password; more are further parameters.
func (s *server) password(t testing.TB, as auth, p person, more ...string) answer {
	t.Helper()
	form := params(append([]string{"grant_type", "password", "username", p.Name, "password", p.Password}, more...)...)
	return s.post(t, "/o/token/", as, form)
}

// pair returns the tokens that an application gets for a person's password.
func (s *server) pair(t testing.TB, app application, p person, more ...string) tokens {
	t.Helper()
	a := s.password(t, app.auth(), p, more...)
	if a.Status != http.StatusOK {
		t.Fatalf("the password grant answered %d: %s", a.Status, a.Body)
	}
	return s.tokens(t, a)
}

// refresh requests new tokens with a refresh token.
func (s *server) refresh(t testing.TB, as auth, token string, more ...string) answer {
	t.Helper()
	return s.post(t, "/o/token/", as,
		params(append([]string{"grant_type", "refresh_token", "refresh_token", token}, more...)...))
}

// checkInactive checks that introspection of an invalid token returns only that it is
// inactive.
func (s *server) checkInactive(t testing.TB, as auth, token string) {
	t.Helper()
	a := s.post(t, "/o/introspect/", as, params("token", token))
	if a.Status != http.StatusOK {
		t.Fatalf("the introspection endpoint answered %d: %s", a.Status, a.Body)
	}
	checkUncached(t, a)
	if diff := cmp.Diff(map[string]any{"active": false}, object(t, a)); diff != "" {
		t.Errorf("inactive token (-want +got):\n%s", diff)
	}
}

// introspector registers an application that may introspect.
func (s *server) introspector(t testing.TB) application {
	t.Helper()
	return s.application(t, "--name", "resource server", "--grant", "client_credentials", "--may-introspect")
}
