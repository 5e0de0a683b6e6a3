// The OpenID Connect authenticator of kube-apiserver, and a command-line client in front of it, as kubelogin does it:
// it gets an ID token by the code flow and sends it to the API server. Both are in one process here.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"k8s.io/apiserver/pkg/apis/apiserver"
	authenticator "k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

// bundle is the content of --oidc-ca-file.
type bundle []byte

func (b bundle) CurrentCABundleContent() []byte { return b }

func main() {
	address, issuer, id := os.Getenv("ADDRESS"), os.Getenv("ISSUER"), os.Getenv("CLIENT_ID")
	ca, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	// --oidc-issuer-url, --oidc-client-id, --oidc-ca-file, --oidc-username-claim=email, --oidc-groups-claim=groups
	none := ""
	of := apiserver.JWTAuthenticator{
		Issuer: apiserver.Issuer{URL: issuer, Audiences: []string{id}},
		ClaimMappings: apiserver.ClaimMappings{
			Username: apiserver.PrefixedClaimOrExpression{Claim: "email", Prefix: &none},
			Groups:   apiserver.PrefixedClaimOrExpression{Claim: "groups", Prefix: &none},
		},
	}
	server, err := authenticator.New(context.Background(),
		authenticator.Options{JWTAuthenticator: of, CAContentProvider: bundle(ca)})
	if err != nil {
		log.Fatal(err)
	}
	provider, err := oidc.NewProvider(context.Background(), issuer)
	if err != nil {
		log.Fatal(err)
	}
	client := oauth2.Config{ClientID: id, ClientSecret: os.Getenv("CLIENT_SECRET"), Endpoint: provider.Endpoint(),
		RedirectURL: "http://" + address,
		Scopes:      []string{"openid", "email", "groups"}}
	state := rand.Text()
	http.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := server.HealthCheck(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, client.AuthCodeURL(state), http.StatusFound)
	})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("state") != state {
			http.Error(w, "another state", http.StatusBadRequest)
			return
		}
		token, err := client.Exchange(r.Context(), r.FormValue("code"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		who, known, err := server.AuthenticateToken(r.Context(), raw)
		if err != nil || !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			log.Print(err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"email": who.User.GetName(), "groups": who.User.GetGroups()})
	})
	log.Fatal(http.ListenAndServe(address, nil))
}
