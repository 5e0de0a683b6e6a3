package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// A client is not used if the server registered it otherwise than requested (RFC 7591 §3.2.1).
func TestRegisterDropped(t *testing.T) {
	requested := map[string]any{"client_name": "conformance", "redirect_uris": []string{"https://client.example/"},
		"grant_types":                  []string{"authorization_code", "refresh_token"},
		"id_token_signed_response_alg": "HS256", "require_auth_time": true, "backchannel_logout_session_required": true}
	full :=
		`"redirect_uris":["https://client.example/"],"grant_types":["refresh_token","authorization_code","implicit"],"id_token_signed_response_alg":"HS256","require_auth_time":true`
	for answer, want := range map[string]string{
		`{` + full + `}`: "",
		`{"id_token_signed_response_alg":"HS256","require_auth_time":true}`: "",
		`{` + strings.Replace(full, "HS256", "RS256", 1) +
			`}`: `id_token_signed_response_alg "HS256"`,
		`{` + full + `,"backchannel_logout_session_required":false}`: "", // no role needs it
		`{"require_auth_time":true}`:                                 `id_token_signed_response_alg "HS256"`,
		`{` + strings.Replace(full, "true", "false", 1) + `}`:        `require_auth_time true`,
		`{` + strings.Replace(full, `"refresh_token",`, "", 1) +
			`}`: `grant_types ["authorization_code","refresh_token"]`,
		`{` + strings.Replace(full, `["https://client.example/"]`, `"https://client.example/"`,
			1): `redirect_uris ["https://client.example/"]`,
	} {
		if !strings.HasSuffix(answer, "}") {
			answer += "}"
		}
		var registered map[string]any
		err := json.Unmarshal([]byte(answer), &registered)
		if err != nil {
			t.Fatal(err)
		}
		if got := dropped(requested, registered); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}

// office is a server whose clients introspect their own tokens, and whose UserInfo endpoint and API have a fixed status
// for each token.
func office(t *testing.T, statuses map[string]int, otherwise int) (*httptest.Server, *target.Target) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	n, owners := 0, map[string]string{}
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, _, _ := r.BasicAuth()
		n++
		token := fmt.Sprintf("token-number-%d", n)
		owners[token] = id
		_, _ = io.WriteString(w, `{"token_type":"Bearer","access_token":"`+token+`"}`)
	})
	mux.HandleFunc("/introspect", func(w http.ResponseWriter, r *http.Request) {
		id, _, _ := r.BasicAuth()
		_ = json.NewEncoder(w).Encode(map[string]any{"active": id != "nobody" && owners[r.PostFormValue("token")] == id})
	})
	mux.HandleFunc("/api", func(w http.ResponseWriter, r *http.Request) {
		status, known := statuses[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if !known {
			status = otherwise
		}
		w.WriteHeader(status)
	})
	return server, &target.Target{Issuer: server.URL,
		Endpoints: map[string]string{"token_endpoint": server.URL + "/token"}, Clients: map[need.Need]*target.Client{
			need.Machine: {ID: "machine", Secret: "a-secret"},
			need.Code:    {ID: "code", Secret: "a-secret", RedirectURIs: []string{"https://client.example/"}}}}
}

func checkOne(t *testing.T, of *target.Target, one func(*check.T)) check.Result {
	t.Helper()
	err := of.Check()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewRunner(t.Context(), of, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runner.Check(t.Context(), check.Rule{ID: "TEST/1/one", Level: check.Must, Check: one})
}

// Without a client that may introspect all tokens, each client introspects its own.
func TestRegisterIntrospectsOwn(t *testing.T) {
	server, of := office(t, nil, 0)
	of.Endpoints["introspection_endpoint"] = server.URL + "/introspect"
	result := checkOne(t, of, func(t *check.T) {
		for _, role := range []need.Need{need.Machine, need.Code} {
			c := t.Client(role)
			token := t.Granted(t.Token(c, wire.Params("grant_type", "client_credentials"))).Access
			if !t.Works(token) {
				t.Errorf("the token of %s is inactive", role)
			}
		}
	})
	if result.Status != check.Pass {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
}

// What a resource answers to an invented token, and 403, do not show that a token works.
func TestWorksHasAControl(t *testing.T) {
	for name, row := range map[string]struct {
		token, invented int
		want            check.Status
		reason          string
	}{
		"it works":             {200, 401, check.Pass, ""},
		"it is refused":        {401, 401, check.Fail, "it does not work"},
		"everything works":     {200, 200, check.Blocked, "to an invented token too"},
		"every token gets 403": {403, 403, check.Blocked, "name an api"},
		"the scope is missing": {403, 401, check.Blocked, "name an api"},
	} {
		server, of := office(t, map[string]int{"the-token-of-the-client": row.token}, row.invented)
		of.API.URL = server.URL + "/api"
		result := checkOne(t, of, func(t *check.T) {
			if !t.Works("the-token-of-the-client") {
				t.Errorf("it does not work")
			}
		})
		if result.Status != row.want || !strings.Contains(result.Reason, row.reason) {
			t.Errorf("%s: %s %s, want %s %s", name, result.Status, result.Reason, row.want, row.reason)
		}
	}
}

// A client that the server registered otherwise is deleted, and the rules that need it are skipped. The others go on,
// also if the server refuses every further client.
func TestRegisterDropsAClient(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	left := map[string]bool{}
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		err := json.NewDecoder(r.Body).Decode(&asked)
		if err != nil || asked["id_token_signed_response_alg"] == nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		delete(asked, "id_token_signed_response_alg")
		asked["client_id"], asked["client_secret"], asked["registration_client_uri"],
			asked["registration_access_token"] = "one", "a-secret", server.URL+"/register/one", "manage"
		left["one"] = true
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("DELETE /register/one", func(w http.ResponseWriter, _ *http.Request) {
		delete(left, "one")
		w.WriteHeader(http.StatusNoContent)
	})
	of := &target.Target{Issuer: server.URL, Register: target.Once,
		Endpoints: map[string]string{"token_endpoint": server.URL + "/token", "registration_endpoint": server.URL +
			"/register"},
		Clients: map[need.Need]*target.Client{need.Machine: {ID: "machine", Secret: "a-secret"}}}
	result := checkOne(t, of, func(t *check.T) { t.Client(need.HS256) })
	if result.Status != check.Skip ||
		!strings.Contains(result.Reason, `it registered the client without id_token_signed_response_alg "HS256"`) {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
	if len(left) > 0 {
		t.Errorf("the server still has the clients %v", left)
	}
	of.Clients = nil
	_, err := NewRunner(t.Context(), of, nil, wire.Options{})
	if err == nil {
		t.Error("the run goes on without a client")
	}
}

// A server that refuses the scope of a registration chooses the scope itself.
func TestRegisterWithoutScope(t *testing.T) {
	var scopes []any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if r.Method == http.MethodPost {
			scopes = append(scopes, asked["scope"])
		}
		if asked["scope"] != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		asked["client_id"], asked["client_secret"] = "one", "a-secret"
		_ = json.NewEncoder(w).Encode(asked)
	}))
	defer server.Close()
	of := &target.Target{Issuer: server.URL, Register: target.Once, Scope: "openid email",
		Clients: map[need.Need]*target.Client{},
		Endpoints: map[string]string{"token_endpoint": server.URL + "/token", "registration_endpoint": server.URL +
			"/register"}}
	result := checkOne(t, of, func(t *check.T) { t.Client(need.Code) })
	if result.Status != check.Pass || len(scopes) < 2 || scopes[0] != "openid email" || scopes[1] != nil {
		t.Errorf("%s: %s; the scopes of the requests: %v", result.Status, result.Reason, scopes)
	}
}

// A client that may not introspect its own token introspects nothing.
func TestRegisterMayNotIntrospect(t *testing.T) {
	server, of := office(t, nil, 0)
	of.Endpoints["introspection_endpoint"] = server.URL + "/introspect"
	of.Clients[need.Machine] = &target.Client{ID: "nobody", Secret: "a-secret"}
	result := checkOne(t, of, func(t *check.T) { t.Client(need.Introspect) })
	if result.Status != check.Skip || !strings.Contains(result.Reason, "may not introspect its own token") {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
}

// A server that has lost the clients of the run keeps none of them. One line says so.
func TestCloseWithoutTheClients(t *testing.T) {
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	closed := func() error {
		r := &Runner{Server: check.NewServer(&target.Target{Issuer: server.URL,
			Endpoints: map[string]string{"registration_endpoint": server.URL}}, wire.NewNetwork(wire.Options{})),
			made: []*target.Client{
				{ID: "1", Role: need.Code, Configuration: server.URL + "/1"},
				{ID: "2", Role: need.Public, Configuration: server.URL + "/2"}}}
		return r.Close(t.Context())
	}
	if err := closed(); err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.HasPrefix(err.Error(), "the server does not know these clients any more, which it registered for the run: "+
			"code, public.") {
		t.Errorf("%v", err)
	}
	status = http.StatusInternalServerError
	if err := closed(); err == nil || strings.Count(err.Error(), "stays registered: 500") != 2 {
		t.Errorf("%v", err)
	}
}
