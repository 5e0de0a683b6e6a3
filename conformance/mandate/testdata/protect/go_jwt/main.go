package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	issuer = "https://auth.example.org/o"
	api    = "https://orders.example.org" // the URI of the resource
)

var keys = oidc.NewRemoteKeySet(context.Background(), issuer+"/.well-known/jwks.json")

// The verifier checks the signature (RS256), iss, aud and exp.
var verifier = oidc.NewVerifier(issuer, keys, &oidc.Config{ClientID: api})

func need(scope string, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		var header struct{ Typ string }
		var claims struct {
			Scope string
			Cnf   any
		}
		encoded, _, _ := strings.Cut(sent, ".")
		decoded, _ := base64.RawURLEncoding.DecodeString(encoded)
		_ = json.Unmarshal(decoded, &header)
		token, err := verifier.Verify(r.Context(), sent)
		if err == nil {
			err = token.Claims(&claims)
		}
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "failed to verify signature: fetching keys"):
			http.Error(w, "keys", http.StatusServiceUnavailable)
		case err != nil || !strings.EqualFold(scheme, "Bearer") || header.Typ != "at+jwt" || claims.Cnf != nil:
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !slices.Contains(strings.Fields(claims.Scope), scope):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			r.Header.Set("X-Subject", token.Subject)
			then(w, r)
		}
	}
}

func main() {
	http.HandleFunc("GET /orders", need("read", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"orders": []string{}, "of": r.Header.Get("X-Subject")})
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"), nil))
}
