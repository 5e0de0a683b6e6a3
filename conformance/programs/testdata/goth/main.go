// A website that signs people in by goth's package gothic, as its documentation shows: the library of Gitea and
// Forgejo.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/gorilla/pat"
	"github.com/markbates/goth"
	"github.com/markbates/goth/gothic"
	"github.com/markbates/goth/providers/openidConnect"
)

func main() {
	address := os.Getenv("ADDRESS")
	provider, err := openidConnect.New(os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"),
		"http://"+address+"/auth/openid-connect/callback",
		os.Getenv("ISSUER")+"/.well-known/openid-configuration", "openid", "profile", "email", "groups")
	if err != nil {
		log.Fatal(err)
	}
	goth.UseProviders(provider)
	p := pat.New()
	p.Get("/auth/{provider}/callback", func(w http.ResponseWriter, r *http.Request) {
		user, err := gothic.CompleteUserAuth(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": user.Name, "email": user.Email,
			"groups": user.RawData["groups"]})
	})
	p.Get("/auth/{provider}", gothic.BeginAuthHandler)
	log.Fatal(http.ListenAndServe(address, p))
}
