package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7591Metadata has the checks of the rules about client metadata (RFC 7591 §2).
var rfc7591Metadata = checks{
	"RFC7591/2/redirect-uris": func(t *T) {
		m := plainClient(t)
		t.WithClient(m, func(a *check.Made) {
			wantSame(t, a.Answer, m, "redirect_uris")
		})
	},
	"RFC7591/2/default-grant-type": func(t *T) {
		if a := t.Bare(); a.Status/100 != 2 {
			t.WithClient(plainClient(t), func(*check.Made) {})
			t.At(a)
			t.Failf("a registration with a name and redirect URIs alone is refused, and one with grant_types is not: %s",
				a.Failure())
		}
		t.WithClient(bareClient(t), func(a *check.Made) {
			if list, given := check.Metadata(a.JSON()).List("grant_types"); given &&
				!slices.Contains(list, "authorization_code") {
				t.Errorf("grant_types is %s, which lacks authorization_code", Quoted(list))
			}
		})
	},
	"RFC7591/2/one-source-of-keys": func(t *T) {
		a := registerWith(t,
			map[string]any{"jwks_uri": "https://client.example/keys", "jwks": map[string]any{"keys": []any{publicKey()}}})
		if a.Status/100 == 2 && a.JSON()["jwks"] != nil && a.JSON()["jwks_uri"] != nil {
			t.Errorf("the server registered jwks and jwks_uri together")
		}
	},
	"RFC7591/2/unknown-ignored": func(t *T) {
		if a := registerWith(t,
			map[string]any{"conformance_unknown": "x", "conformance_object": map[string]any{"a": []int{1}}}); a.Status/100 != 2 {
			t.Errorf("a registration with unknown metadata is refused: %s", a.Failure())
		}
	},
	"RFC7591/2/logo": func(t *T) {
		plain, m := pagesFor(t, plainClient(t)), plainClient(t)
		m["logo_uri"] = ownPage(m, "logo.png")
		if count := func(pages string) int { return strings.Count(pages, "<img") }; count(pagesFor(t, m)) <= count(plain) {
			t.Errorf("the login page and the consent page have no image that they do not have for a client without a logo")
		}
	},
	"RFC7591/2.1/consistent": func(t *T) {
		a := registerWith(t,
			map[string]any{"grant_types": []string{"authorization_code"}, "response_types": []string{"token"}})
		m := check.Metadata(a.JSON())
		types, _ := m.List("response_types")
		together := func(grant string, words ...string) bool {
			return m.Lists("grant_types", grant) == slices.ContainsFunc(types, func(one string) bool {
				return slices.ContainsFunc(strings.Fields(one), func(word string) bool { return slices.Contains(words, word) })
			})
		}
		// OIDC Registration §2: an id_token needs the grant type implicit too.
		if a.Status/100 == 2 && !(together("implicit", "token", "id_token") && together("authorization_code", "code")) {
			t.Errorf("the server registered grant_types %s together with response_types %s", Quoted(m["grant_types"]),
				Quoted(m["response_types"]))
		}
	},
	"RFC7591/2.3/statement": rfc7591Statement,
}

func rfc7591Statement(t *T) {
	t.WithClient(plainClient(t), func(*check.Made) {})
	for _, s := range []struct{ what, iss string }{{"a statement that nobody has signed", "https://issuer.example"},
		{"a statement without iss and signature", ""}} {
		m := plainClient(t)
		claims := map[string]any{"client_name": "vouched " + t.Random()}
		if s.iss != "" {
			claims["iss"] = s.iss
		}
		m["software_statement"] = jose.Encoded(map[string]any{"alg": "none"}) + "." + jose.Encoded(claims) + "."
		a := t.Register(m)
		// RFC 7591 §3.1.1: a server that does not support statements may ignore them.
		if a.Status/100 == 2 && a.Text("client_name") == claims["client_name"] {
			t.Errorf("%s decides about client_name", s.what)
		}
	}
}

// rfc7591Endpoint has the checks of the rules about the registration endpoint (RFC 7591 §3).
var rfc7591Endpoint = checks{
	"RFC7591/3/json": func(t *T) {
		a := t.Register(plainClient(t))
		if a.Status == http.StatusUnsupportedMediaType || a.Status == http.StatusMethodNotAllowed {
			t.Errorf("a POST with JSON is answered with %s", a)
		}
		if a.Status/100 != 2 {
			t.WithClient(plainClient(t), func(*check.Made) {}) // it says what is missing
		}
	},
	"RFC7591/3.2.1/created":           func(t *T) { wantCreated(t) },
	"RFC7591/3.2.1/client-id-unique":  func(t *T) { wantDistinct(t, "client_id") },
	"RFC7591/3.2.1/secret-unique":     func(t *T) { wantDistinct(t, "client_secret") },
	"RFC7591/3.2.1/secret-expires-at": wantSecretExpiry,
	"RFC7591/3.2.1/all-metadata": func(t *T) {
		m := plainClient(t)
		t.WithClient(m, func(a *check.Made) {
			wantSame(t, a.Answer, m, "client_name", "redirect_uris")
			if a.Text("token_endpoint_auth_method") == "" {
				t.Errorf("the answer does not say how the client authenticates (token_endpoint_auth_method)")
			}
		})
	},
	"RFC7591/3.2.2/error": func(t *T) {
		a := refusedRegistration(t)
		t.WantStatus(a, http.StatusBadRequest)
		if code := a.Text("error"); code != "invalid_redirect_uri" && code != "invalid_client_metadata" {
			t.Errorf("error is %q, want invalid_redirect_uri", code)
		}
	},
}

// rfc7591Security has the checks of the rules of RFC 7591 §5.
var rfc7591Security = checks{
	"RFC7591/5/redirect-uris-required": func(t *T) {
		if a := registerWith(t, map[string]any{"redirect_uris": nil}); a.Status/100 == 2 {
			t.Errorf("a client of the authorization code grant was registered without redirect_uris")
		}
	},
	"RFC7591/5/redirect-uris-protected": func(t *T) {
		const open = "http://client.example/callback"
		a := registerWith(t, map[string]any{"redirect_uris": []string{open}})
		if a.Status/100 == 2 && check.Metadata(a.JSON()).Lists("redirect_uris", open) {
			t.Errorf("the redirect URI %s was registered", open)
		}
	},
	"RFC7591/5/tls": func(t *T) { wantTLS(t, t.Endpoint(need.Registration)) },
}

// bareClient returns the least metadata of a client of the code flow. Each one is different.
func bareClient(t *T) map[string]any {
	name := t.Random()
	return map[string]any{"client_name": "conformance " + name,
		"redirect_uris": []string{"https://client.example/" + name}}
}

// plainClient returns the same. If the server refuses it, it has the members too whose default RFC 7591 §2 defines.
func plainClient(t *T) map[string]any {
	m := bareClient(t)
	if t.Bare().Status/100 == http.StatusBadRequest/100 {
		m["grant_types"], m["response_types"] = []string{"authorization_code"}, []string{"code"}
		m["token_endpoint_auth_method"] = need.SecretBasic
	}
	return m
}

// registerWith sends a registration request with other metadata than that of a plain client; nil removes a member. The
// server should refuse or change it. A plain client is registered first: otherwise a refusal could have another cause.
func registerWith(t *T, metadata map[string]any) *wire.Answer {
	t.WithClient(plainClient(t), func(*check.Made) {})
	m := plainClient(t)
	for name, value := range metadata {
		if m[name] = value; value == nil {
			delete(m, name)
		}
	}
	return t.Register(m)
}

// refusedRegistration returns the answer to a registration request with an invalid redirect URI.
func refusedRegistration(t *T) *wire.Answer {
	a := registerWith(t, map[string]any{"redirect_uris": []string{"no URI"}})
	if a.Status/100 == 2 {
		t.Skipf("the rule needs a server that refuses the redirect URI %q: this one registered it", "no URI")
	}
	return a
}

// wantCreated asserts that the answer to a registration is 201 with a client_id, and has the named metadata as it was
// sent.
func wantCreated(t *T, names ...string) {
	m := plainClient(t)
	t.WithClient(m, func(a *check.Made) {
		t.WantStatus(a.Answer, http.StatusCreated)
		if a.MediaType() != "application/json" || a.Text("client_id") == "" {
			t.Errorf("the answer has the type %q and client_id %q", a.MediaType(), a.Text("client_id"))
		}
		wantSame(t, a.Answer, m, names...)
	})
}

// wantSecretExpiry asserts that an answer with a secret says when the secret expires.
func wantSecretExpiry(t *T) {
	t.WithClient(plainClient(t), func(a *check.Made) {
		if a.Text("client_secret") == "" {
			t.Skipf("the rule applies to a server that issues a client_secret to the registered client")
		}
		if _, is := a.JSON()["client_secret_expires_at"].(float64); !is {
			t.Errorf("client_secret_expires_at is %s, want a number", Quoted(a.JSON()["client_secret_expires_at"]))
		}
	})
}

// wantSame asserts that an answer has some metadata as it was sent.
func wantSame(t *T, a *wire.Answer, sent map[string]any, names ...string) {
	for _, name := range names {
		if got := a.JSON()[name]; Quoted(got) != Quoted(sent[name]) {
			t.Errorf("%s is %s, and the client registered %s", name, Quoted(got), Quoted(sent[name]))
		}
	}
}
