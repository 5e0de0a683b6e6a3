package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
)

func TestCommandTargetFile(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "bank.key")
	err := os.WriteFile(pem, []byte("-----BEGIN PRIVATE KEY-----\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                         "it needs an issuer",
		"issuer: x\n":              `issuer: "x" is not an http or https URL`,
		"issuer: http://h\nx: 1\n": "line 2: unknown key x",
		"issuer: http://h\nclients:\n  code:\n    id: a\n    sekret: b\n": "line 5: unknown key sekret",
		"issuer: http://h\nclients:\n  coder: {id: a}\n":                  "clients: coder: there is no such role: use ",
		"issuer: http://h\nclients:\n  code: {id: a, secret: b}\n":        "clients: code: redirect_uris is missing",
		"issuer: http://h\nclients:\n  code:\n":                           "clients: code: id is missing",
		"issuer: http://h\nclients:\n  machine: {id: a, auth: magic}\n":   `auth: "magic" is not supported`,
		"issuer: http://h\nissuer: http://i\n":                            "already defined",
		"issuer: [1\n":                                                    "line 1",
		"issuer: http://h\n---\nissuer: http://h\n":                       "more than one document",
		"issuer: http://h\nuser: {username: alice}\n":                     "user: needs both",
		"issuer: http://h\nendpoints: {token_endpoint: /token}\n":         `endpoints: token_endpoint: "/token" is not an http or https URL`,
		"issuer: http://h\nendpoints: {token: 'https://h/token'}\n": "endpoints: token: there is no such endpoint: " +
			"use authorization_endpoint, token_endpoint, ",
		"\xff\xfe\x00":                          "yaml",
		"issuer: {a: b}\n":                      "line 1: must be a text, not keys with values",
		"issuer: http://h\nregister: maybe\n":   "line 2: register must be true, false or reuse",
		"issuer: http://h\nuser: alice\n":       "line 2: must be keys with values, not a single value",
		"issuer: http://h\norigins: x\n":        "line 2: must be a list, not a single value",
		"issuer http://h\n":                     "line 1: must be keys with values, not a single value",
		"\tissuer: http://h\n":                  "indent YAML with spaces",
		"issuer: http://h\nbackchannel: here\n": `backchannel: "here" is not host:port`,
		"issuer: http://h\nclients:\n  public: {id: a, secret: b, redirect_uris: [https://c.example]}\n":                                            "clients: public: secret must be removed: the role is a public client",
		"issuer: http://h\nclients:\n  machine: {id: a}\n":                                                                                          "clients: machine: secret is missing: the role is a confidential client",
		"issuer: http://h\nclients:\n  machine: {id: a, secret: b, auth: private_key_jwt}\n":                                                        "clients: machine: auth private_key_jwt and secret contradict each other: remove one of them",
		"issuer: http://h\nclients:\n  machine: {id: a, auth: private_key_jwt}\n":                                                                   "clients: machine: jwk is missing: auth private_key_jwt needs it",
		"issuer: http://h\nclients:\n  machine: {id: a, auth: tls_client_auth}\n":                                                                   "clients: machine: certificate is missing: auth tls_client_auth needs it",
		"issuer: http://h\nclients:\n  machine: {id: a, certificate: b.pem}\n":                                                                      "clients: machine: needs both certificate and key",
		"issuer: http://h\nclients:\n  machine: {id: a, certificate: b.pem, key: nowhere.pem}\n":                                                    "clients: machine: certificate and key: open b.pem: no such file",
		"issuer: http://h\nclients:\n  machine: {id: a, jwk: nowhere.jwk}\n":                                                                        "clients: machine: jwk: open nowhere.jwk: no such file",
		"issuer: http://h\nclients:\n  machine: {id: a, jwk: [b]}\n":                                                                                "clients: machine: jwk: is neither a JWK, such as {kty: EC",
		"issuer: http://h\nclients:\n  machine: {id: a, jwk: {kty: EC, crv: P-256, x: AA, y: AA}}\n":                                                "clients: machine: jwk: d is missing: name the private key",
		"issuer: http://h\nclients:\n  key: {id: a, secret: b, redirect_uris: [https://c.example]}\n":                                               "clients: key: auth must be private_key_jwt: the role is",
		"issuer: http://h\nclients:\n  fapi2: {id: a, secret: b, redirect_uris: [https://c.example]}\n":                                             "clients: fapi2: auth must be private_key_jwt or tls_client_auth or self_signed_tls_client_auth: the role is",
		"issuer: http://h\nclients:\n  fapi2: {id: a, jwk: b, binding: certificate, redirect_uris: [https://c.example]}\n":                          "clients: fapi2: certificate is missing: binding certificate needs it",
		"issuer: http://h\nclients:\n  fapi2: {id: a, jwk: b, binding: mtls, redirect_uris: [https://c.example]}\n":                                 `clients: fapi2: binding: "mtls" is not supported; use dpop or certificate`,
		"issuer: http://h\nclients:\n  machine: {id: a, secret: b, binding: dpop}\n":                                                                "clients: machine: binding must be removed: only the clients of FAPI 2.0 have it",
		"issuer: http://h\nclients:\n  fapi2-ms: {id: a, certificate: b, key: c, redirect_uris: [https://c.example]}\n":                             "clients: fapi2-ms: jwk is missing: the client, which signs request objects, needs it",
		"issuer: http://h\nclients:\n  fapi2: {id: a, auth: tls_client_auth, jwk: b, certificate: c, key: d, redirect_uris: [https://c.example]}\n": "clients: fapi2: auth tls_client_auth and jwk contradict each other: remove one of them",
		"issuer: http://h\napi: {url: 'http://h/api', mtls_origin: h}\n":                                                                            `origins and api: "h" is not an http or https URL`,
		"issuer: http://h\nclients:\n  several: {id: a, secret: b, redirect_uris: [https://c.example]}\n":                                           "clients: several: redirect_uris needs 2",
		"issuer: http://h\nclients:\n  logout: {id: a, secret: b, redirect_uris: [https://c.example]}\n":                                            "clients: logout: post_logout_redirect_uris is missing",
		"- issuer: http://h\n":   "line 1",
		"issuer: http://u@h/o\n": "is not an http or https URL",
		"issuer: http://h\nclients:\n  machine: {id: a, jwk: {keys: []}}\n": "clients: machine: jwk: this is a JWK Set: " +
			"name one private JWK",
		"issuer: http://h\nclients:\n  machine: {id: a, jwk: " + pem + "}\n": "clients: machine: jwk: " + pem +
			" is a PEM file: convert it",
	} {
		r := servertest.Run(t, "", "--target", targetText(t, text))
		r.Want(t, 2, "target.yaml: ", strings.TrimPrefix(want, "yaml"))
		if strings.Contains(r.Stderr, "conformance.") {
			t.Errorf("%q: the error has words of Go: %s", text, r.Stderr)
		}
	}
	servertest.Run(t, "", "--target", "nowhere.yaml").Want(t, 2, "there is no target file nowhere.yaml", "--write-target")
	servertest.Run(t, "", "--target", "nowhere.yaml", "--clients", "text").Want(t, 0,
		"there is no target file nowhere.yaml yet", "--write-target")
	servertest.Run(t, "", "--target", t.TempDir()).Want(t, 2, "--target: read ")
	servertest.Run(t, "", "--target", os.DevNull).Want(t, 2, "it needs an issuer")
	servertest.Run(t, "", "--target", targetText(t, "issuer: http://h\nscope: "+strings.Repeat("x", 1<<20))).Want(t, 2,
		"larger than a mebibyte")
}
