package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// short are secrets that are too short to be masked in any position. Random texts contain no tilde.
var short = map[string]string{"password": "p~1", "client": "s~2", "access": "a~3", "refresh": "r~4", "id": "i~5",
	"code": "c~6", "cookie": "k~7"}

// wantMasked asserts that a text contains no secret.
func wantMasked(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range short {
		for _, form := range []string{secret, url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte("code:" + secret))} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s shows the %s: …%s…", where, name, text[max(0, at-200):min(len(text), at+40)])
			}
		}
	}
}

// A server with short secrets, which does everything wrong, fails in every way that a report shows.
func TestCommandHidesShortSecrets(t *testing.T) {
	target := careless(t)
	path := targetFile(t, target)
	for format := range engine.Formats() {
		r := servertest.Run(t, "", "--target", path, "--only", "RFC6749", "--only", "RFC6750", "--only", "RFC7636", "--only",
			"RFC7009", "--only", "RFC7662", "--format", format)
		r.Want(t, 1, "CODE_SECRET", "$ACCESS_TOKEN", "COOKIE", "$CODE")
		wantMasked(t, format, r.Stdout+r.Stderr)
	}
}

// careless returns a target whose server grants everything to everybody.
func careless(t *testing.T) *target.Target {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: short["cookie"]})
		back := r.FormValue("redirect_uri")
		if r.FormValue("pw") == short["password"] {
			http.Redirect(w, r, back+"?"+wire.Params("code", short["code"], "state", r.FormValue("state")).Encode(),
				http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w,
			`<form method="post"><input name="login"><input type="password" name="pw" value="%s"><button>Go</button></form>`,
			r.FormValue("pw"))
	})
	all := func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // any form
		w.Header().Set("X-Seen", r.Form.Encode())
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": short["access"], "refresh_token": short["refresh"],
			"id_token":   short["id"],
			"token_type": "bearer", "error_description": "You sent " + r.Form.Encode(), "active": true})
	}
	for _, path := range []string{"/token", "/introspect", "/revoke", "/api"} {
		mux.HandleFunc(path, all)
	}
	client := func(role need.Need, uri string) *target.Client {
		return &target.Client{ID: string(role), Secret: short["client"], RedirectURIs: []string{uri}}
	}
	return &target.Target{Issuer: server.URL, User: target.User{Username: "alice", Password: short["password"]},
		API: target.API{URL: server.URL + "/api"},
		Endpoints: map[string]string{"authorization_endpoint": server.URL + "/authorize",
			"token_endpoint":         server.URL + "/token",
			"introspection_endpoint": server.URL + "/introspect", "revocation_endpoint": server.URL + "/revoke"},
		Clients: map[need.Need]*target.Client{need.Code: client(need.Code, "https://client.example/code"),
			need.Second:  client(need.Second, "https://client.example/second"),
			need.Machine: client(need.Machine, ""), need.Introspect: client(need.Introspect, ""),
			need.Password: client(need.Password, ""),
			need.Public:   {ID: "public", RedirectURIs: []string{"https://client.example/public"}}}}
}
