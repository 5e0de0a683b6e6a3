package mandate

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestSecuredCurl uses curl with a certificate: a token that is bound to it (RFC 8705 §3), and
// the sample API with and without it.
func TestSecuredCurl(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := newSecuredServer(t, db)
		app, own := s.certified(t, "curl")
		_, other := s.certified(t, "other")
		_, none := s.keyed(t, "none")
		form := params("grant_type", "client_credentials", "scope", "read", "client_id", app.ClientID)
		got := s.tokens(t, s.curl(t, own, s.mutual+"/o/token/", "", form))
		s.checkBoundTo(t, got.AccessToken, own)
		for name, test := range map[string]struct {
			address string
			input   map[string]any
			want    int
		}{
			"the certificate of the token":      {s.mutual, own, http.StatusOK},
			"no certificate":                    {s.mutual, none, http.StatusUnauthorized},
			"the certificate of another client": {s.mutual, other, http.StatusUnauthorized},
			"the listener that asks for none":   {s.URL, own, http.StatusUnauthorized},
		} {
			a := s.curl(t, test.input, test.address+"/resource", got.AccessToken, nil)
			if a.Status != test.want || a.Status != http.StatusOK && !strings.Contains(a.Body, "certificate") {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		for name, input := range map[string]map[string]any{"no certificate": none,
			"the certificate of another client": other} {
			a := s.curl(t, input, s.mutual+"/o/token/", "", form)
			if a.Status != http.StatusUnauthorized || !strings.Contains(a.Body, "invalid_client") {
				t.Errorf("a token request with %s: %d %s", name, a.Status, a.Body)
			}
		}
	})
}

// curl sends a form, or gets a URL, with the certificate of a client.
func (s *securedServer) curl(t testing.TB, input map[string]any, address, token string, form url.Values) answer {
	t.Helper()
	args := []string{"--silent", "--show-error", "--cacert", s.certificateFile(t), "--config", "-", "--http1.1",
		"--include"}
	pair := input["tls"].(map[string]any)
	if pair["cert"] != nil {
		args = append(args, "--cert", writeText(t, pair["cert"].(string)), "--key", writeText(t, pair["key"].(string)))
	}
	if form != nil {
		args = append(args, "--data", form.Encode())
	}
	cmd := exec.Command(testkit.Program(t, "curl", "curl"), append(args, address)...)
	if token != "" { // not an argument, which everybody on the machine can read
		cmd.Stdin = strings.NewReader("header = " + quote("Authorization: Bearer "+token) + "\n")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("curl: %v: %s", err, out)
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}
