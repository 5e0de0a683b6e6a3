package main

import (
	"cmp"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

const endpoint = "https://auth.example.org/o/introspect/"

func need(scope string, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			sent = ""
		}
		answer, err := http.PostForm(endpoint, url.Values{
			"token": {cmp.Or(sent, "none")}, "client_id": {os.Getenv("CLIENT_ID")},
			"client_secret": {os.Getenv("CLIENT_SECRET")},
		})
		if err != nil {
			http.Error(w, "introspection", http.StatusServiceUnavailable)
			return
		}
		defer answer.Body.Close()
		var token struct {
			Active     bool
			Scope, Sub string
			TokenType  string `json:"token_type"`
			Cnf        any
		}
		err = json.NewDecoder(answer.Body).Decode(&token)
		switch {
		case err != nil || answer.StatusCode != http.StatusOK:
			http.Error(w, "introspection", http.StatusServiceUnavailable)
		case !token.Active || token.TokenType != "Bearer" || token.Cnf != nil:
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !slices.Contains(strings.Fields(token.Scope), scope):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			r.Header.Set("X-Subject", token.Sub)
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
