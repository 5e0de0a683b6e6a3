package outbound

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestForLibrary(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere":
			t.Error("a redirect was followed")
		case "/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			if r.Header.Get("User-Agent") != "Mandate" {
				t.Error(r.Header)
			}
			_, _ = w.Write([]byte("12345"))
		}
	})
	client := allowing("127.0.0.0/8").ForLibrary(5)
	read := func(path string, most int) (string, error) {
		response, err := allowing("127.0.0.0/8").ForLibrary(most).Get(at + path)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	if body, err := read("/", 5); err != nil || body != "12345" {
		t.Errorf("%q, %v", body, err)
	}
	_, err := read("/", 4)
	if size, ok := errors.AsType[*SizeError](err); !ok || size.Most != 4 {
		t.Error("a response that is too large:", err)
	}
	response, err := client.Get(at + "/redirect")
	if err != nil || response.StatusCode != http.StatusFound {
		t.Error(response, err)
	}
	if client.Timeout != patience {
		t.Error("the time is not limited:", client.Timeout)
	}
	_, err = New(Config{}).ForLibrary(5).Get(at)
	if err == nil || !strings.Contains(err.Error(), "special-use address") {
		t.Error("an internal address:", err)
	}
}
