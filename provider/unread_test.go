package provider

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"mandate/provider/clientauth"
	"mandate/provider/policy"
)

// Whoever has seen a request that was refused, such as in a log, cannot send its assertion again.
//
// The class is CWE-294: what a log or a proxy has kept is sent again (OIDC Core §9).
func TestAttackAssertionOfARefusedRequestIsReplayed(t *testing.T) {
	f := begin(t)
	app, other := f.keyed(), f.app()
	query := func(r *http.Request, assertion string) {
		r.URL.RawQuery = url.Values{"client_assertion": {assertion}}.Encode()
	}
	body := func(kind, text string) func(*http.Request, string) {
		return func(r *http.Request, assertion string) {
			r.Header.Set("Content-Type", kind)
			r.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(text, "JWT", assertion)))
		}
	}
	form := "application/x-www-form-urlencoded"
	typed := "client_assertion_type=" + url.QueryEscape(clientauth.AssertionType)
	for name, wrong := range map[string]func(*http.Request, string){
		"in the query":              query,
		"in the query and the body": func(r *http.Request, _ string) { r.URL.RawQuery = "a=b" },
		"as text":                   func(r *http.Request, _ string) { r.Header.Set("Content-Type", "text/plain") },
		"without a media type":      func(r *http.Request, _ string) { r.Header.Del("Content-Type") },
		"in JSON":                   body("application/json", `{"client_assertion": "JWT"}`),
		"in parts": body("multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"client_assertion\"\r\n\r\nJWT\r\n--x--\r\n"),
		"beside Basic": func(r *http.Request, _ string) {
			r.SetBasicAuth(other.Application.ClientID, other.Secret)
		},
		"beside a bearer token":      func(r *http.Request, _ string) { r.Header.Set("Authorization", "Bearer x") },
		"beside client_secret":       body(form, typed+"&client_assertion=JWT&client_secret=x"),
		"for another client":         body(form, typed+"&client_assertion=JWT&client_id="+other.Application.ClientID),
		"with another type":          body(form, "client_assertion_type=x&client_assertion=JWT"),
		"without a type":             body(form, "client_assertion=JWT"),
		"beside a parameter twice":   body(form, typed+"&client_assertion=JWT&a=1&a=2"),
		"beside a broken percentage": body(form, typed+"&client_assertion=JWT&a=%zz"),
		"twice":                      body(form, typed+"&client_assertion=x.y.z&client_assertion=JWT"),
	} {
		for _, endpoint := range []string{"token", "par", "introspect", "revoke_token", "device_authorization"} {
			t.Run(name+" at "+endpoint, func(t *testing.T) {
				f.t = t
				assertion := app.assertion(nil)
				r := app.at(endpoint, assertion, "grant_type", policy.GrantClient, "token", "x")
				wrong(r, assertion)
				if err := f.send(endpoint, r); err == nil {
					t.Fatal("the request is accepted")
				}
				wantUsed(t, name, f.send("token", app.at("token", assertion, "grant_type", policy.GrantClient)))
			})
		}
	}
}

// The same of the DPoP proof of a request that is refused before anything needs it (RFC 9449 §11.1).
func TestAttackProofOfARefusedRequestIsReplayed(t *testing.T) {
	f := begin(t)
	app, key := f.app(), newKey(t)
	for name, wrong := range map[string]func(*http.Request) *http.Request{
		"no grant":         func(*http.Request) *http.Request { return by(app) },
		"an unknown grant": func(*http.Request) *http.Request { return by(app, "grant_type", "x") },
		"a grant of others": func(*http.Request) *http.Request {
			return by(app, "grant_type", policy.GrantDevice, "device_code", "x")
		},
		"a wrong secret": func(r *http.Request) *http.Request {
			r.SetBasicAuth(app.Application.ClientID, "x")
			return r
		},
		"no client":               func(r *http.Request) *http.Request { r.Header.Del("Authorization"); return r },
		"parameters in the query": func(r *http.Request) *http.Request { r.URL.RawQuery = "a=b"; return r },
		"another media type": func(r *http.Request) *http.Request {
			r.Header.Set("Content-Type", "text/plain")
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			proof := f.proof(key, "token", nil)
			if err := f.send("token", proving(wrong(by(app, "grant_type", policy.GrantClient)), proof)); err == nil {
				t.Fatal("the request is accepted")
			}
			wantReplay(t, name, f.send("token", proving(by(app, "grant_type", policy.GrantClient), proof)))
		})
	}
	for name, pairs := range map[string][]string{"a request URI": {"request_uri", "urn:x"},
		"a wrong secret": {"client_secret", "x"}} {
		t.Run("pushed with "+name, func(t *testing.T) {
			f.t = t
			proof, r := f.proof(key, "par", nil), by(app, pairs...)
			if err := f.send("par", proving(r, proof)); err == nil {
				t.Fatal("the request is accepted")
			}
			phone := f.app(public)
			wantReplay(t, name, f.send("par", proving(post(f.query(phone)), proof)))
		})
	}
}

// Strangers cannot make the server verify signatures without an end by requests that are refused anyway.
func TestAttackSignaturesOfRefusedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, key := f.app(), newKey(t)
		used := 0
		for range 310 {
			proof := f.proof(key, "token", nil)
			_ = f.send("token", proving(by(app), proof))
			if err := f.send("token", proving(by(app, "grant_type", policy.GrantClient), proof)); err != nil {
				wantReplay(t, "a refused request", err)
				used++
			}
		}
		if used != 300 {
			t.Errorf("%d proofs were used, want 300", used)
		}
	})
}
