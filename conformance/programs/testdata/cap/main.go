// A website with hashicorp/cap, the library of Vault and Boundary, as its documentation shows it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/cap/oidc"
)

func main() {
	address := os.Getenv("ADDRESS")
	redirect := "http://" + address + "/callback"
	config, err := oidc.NewConfig(os.Getenv("ISSUER"), os.Getenv("CLIENT_ID"),
		oidc.ClientSecret(os.Getenv("CLIENT_SECRET")), []oidc.Alg{oidc.RS256}, []string{redirect})
	if err != nil {
		log.Fatal(err)
	}
	provider, err := oidc.NewProvider(config)
	if err != nil {
		log.Fatal(err)
	}
	requests := map[string]oidc.Request{} // one person at a time
	http.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		request, err := oidc.NewRequest(2*time.Minute, redirect, oidc.WithScopes("openid", "profile", "email", "groups"))
		if err != nil {
			log.Fatal(err)
		}
		requests[request.State()] = request
		to, err := provider.AuthURL(r.Context(), request)
		if err != nil {
			log.Fatal(err)
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		request := requests[r.FormValue("state")]
		if request == nil {
			http.Error(w, "another state", http.StatusBadRequest)
			return
		}
		token, err := provider.Exchange(context.Background(), request, r.FormValue("state"), r.FormValue("code"))
		claims := map[string]any{}
		if err == nil {
			err = token.IDToken().Claims(&claims)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(claims)
	})
	log.Fatal(http.ListenAndServe(address, nil))
}
