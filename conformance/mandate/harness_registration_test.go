package mandate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// openClients lets applications register themselves, with and without a token.
var openClients = []string{"OPEN_CLIENTS: [registration]"}

// member is the metadata of a client, as JSON.
type member = map[string]any

// trySend sends JSON to a path or to an address of this server. It may be called from any
// goroutine.
func (s *server) trySend(method, path string, as auth, value any) (answer, error) {
	text, isText := value.(string)
	if !isText && value != nil {
		encoded, err := json.Marshal(value)
		if err != nil {
			return answer{}, err
		}
		text = string(encoded)
	}
	path = strings.TrimPrefix(path, s.BaseURL)
	request, err := http.NewRequest(method, s.URL+path, strings.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	if value != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	as(request, url.Values{})
	got, err := s.do(request)
	if err == nil {
		s.hide(got)
	}
	return got, err
}

// hide keeps the secrets of an answer out of the log.
func (s *server) hide(a answer) {
	var said struct {
		Secret string `json:"client_secret"`
		Token  string `json:"registration_access_token"`
	}
	if json.NewDecoder(strings.NewReader(a.Body)).Decode(&said) == nil {
		s.secret(said.Secret)
		s.secret(said.Token)
	}
}

func (s *server) send(t testing.TB, method, path string, as auth, value any) answer {
	t.Helper()
	a, err := s.trySend(method, path, as, value)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return a
}

// registration sends a registration request.
func (s *server) registration(t testing.TB, as auth, value any) answer {
	t.Helper()
	return s.send(t, "POST", "/o/register/", as, value)
}

// registers registers a client, which must succeed, and returns the answer.
func (s *server) registers(t testing.TB, as auth, value any) member {
	t.Helper()
	a := s.registration(t, as, value)
	if a.Status != 201 || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, Cache-Control %q: %s", a.Status, a.Header.Get("Cache-Control"), a.Body)
	}
	return a.JSON(t)
}

// text returns a member that is a string, or "".
func textOf(m member, name string) string {
	value, _ := m[name].(string)
	return value
}

// listOf returns a member that is an array of strings, with spaces between them.
func listOf(m member, name string) string {
	list, _ := m[name].([]any)
	var texts []string
	for _, value := range list {
		text, _ := value.(string)
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// asApplication returns a registered client as an application of the harness.
func asApplication(m member, redirectURI string) application {
	return application{ClientID: textOf(m, "client_id"), ClientSecret: textOf(m, "client_secret"),
		RedirectURI: redirectURI}
}

// initialToken makes an initial access token at the command line.
func (s *server) initialToken(t testing.TB, args ...string) string {
	t.Helper()
	var made struct{ Token string }
	err := json.Unmarshal([]byte(s.mustCLI(t, "", append([]string{"registration-token", "add", "--json"}, args...)...)),
		&made)
	if err != nil {
		t.Fatal(err)
	}
	return s.secret(made.Token)
}
