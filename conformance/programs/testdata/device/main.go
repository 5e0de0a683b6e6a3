// A command line program that signs a person in on another device, with golang.org/x/oauth2 and go-oidc, as their
// documentation shows it. Its first line has the address to open, and its second one the person.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	config := &oauth2.Config{ClientID: os.Getenv("CLIENT_ID"), Endpoint: provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"}}
	response, err := config.DeviceAuth(ctx)
	if err != nil {
		log.Fatal(err)
	}
	screen := json.NewEncoder(os.Stdout)
	_ = screen.Encode(map[string]string{"address": response.VerificationURI, "code": response.UserCode})
	token, err := config.DeviceAccessToken(ctx, response)
	if err != nil {
		log.Fatal(err)
	}
	text, _ := token.Extra("id_token").(string)
	verified, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, text)
	if err != nil {
		log.Fatal(err)
	}
	claims := map[string]any{}
	err = verified.Claims(&claims)
	if err != nil {
		log.Fatal(err)
	}
	_ = screen.Encode(claims)
}
