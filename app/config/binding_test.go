package config

import "testing"

// The settings of a resource server for tokens that are bound to a key or to a certificate.
func TestBindingSettings(t *testing.T) {
	c := mustLoad(t, `UPSTREAM: http://127.0.0.1:3000
RULES: [{PATH: /}]
TRUSTED_PROXIES: [10.0.0.1]
MTLS_CERTIFICATE_HEADER: Client-Cert
OAUTH2_PROVIDER:
  RESOURCE_SERVER_INTROSPECTION_URL: https://a.example
  RESOURCE_SERVER_AUTH_TOKEN: t
  RESOURCE_SERVER_BASE_URLS: [https://api.example/v1, "http://127.0.0.1:9000"]
  RESOURCE_SERVER_REQUIRED_BINDING: certificate
  RESOURCE_SERVER_DPOP_NONCE: true
  RESOURCE_SERVER_DPOP_NONCE_KEY: `+testKey+"\n")
	if string(c.NonceKey) != "01234567890123456789012345678901" || !c.AsksForCertificates() ||
		len(c.Provider.ResourceServerBaseURLs) != 2 {
		t.Errorf("%q, %t, %q", c.NonceKey, c.AsksForCertificates(), c.Provider.ResourceServerBaseURLs)
	}
	// The scheme and host of the audience are enough for keys.
	mustLoad(
		t,
		"UPSTREAM: http://b\nRULES: [{PATH: /}]\nOAUTH2_PROVIDER: {RESOURCE_SERVER_INTROSPECTION_URL: https://a, "+
			"RESOURCE_SERVER_AUTH_TOKEN: t, RESOURCE_SERVER_AUDIENCE: https://api.example/v1, "+
			"RESOURCE_SERVER_REQUIRED_BINDING: dpop}\n",
	)
	if d := mustLoad(
		t, "",
	); d.NonceKey != nil || d.AsksForCertificates() || d.Provider.ResourceServerRequiredBinding != "none" {
		t.Errorf("by default: %+v", d.Provider)
	}
}
