package resource

import (
	"net/http"
	"strings"
	"testing"
)

// A client does not choose its address, its scheme, its certificate or its name for an upstream that
// believes a proxy.
//
// CVE-2024-45410 (Traefik) lets a client choose such headers. The class is CWE-348, the use of a less
// trusted source.
func TestAttackClientChoosesWhatProxiesSay(t *testing.T) {
	for _, name := range []string{
		// The address.
		"Client-Ip", "X-Cluster-Client-Ip", "Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip",
		"X-Remote-Addr", "X-Remote-Ip",
		"X-Originating-Ip", "X-Forwarded", "Forwarded-For", "True-Client-Ip", "X-Real-Ip", "X-Real-Port", "X-Client-Ip",
		"Fly-Client-Ip", "X-Azure-Clientip",
		"X-Azure-Socketip", "X-Appengine-User-Ip", "X-Vercel-Forwarded-For", "X-Nf-Client-Connection-Ip", "Do-Connecting-Ip",
		"Proxy-Client-Ip", "Wl-Proxy-Client-Ip",
		"Http-Client-Ip", "X-Envoy-External-Address", "Cloudfront-Viewer-Address", "Incap-Client-Ip", "X-Sucuri-Clientip",
		"Cdn-Src-Ip", "Ali-Cdn-Real-Ip",
		// The scheme.
		"Https", "X-Https", "Front-End-Https", "Cloudfront-Forwarded-Proto", "Cf-Visitor", "Fastly-Ssl", "X-Arr-Ssl",
		"X-Client-Proto", "X-Protocol",
		// The certificate.
		"X-Ssl-Client-Cert", "Ssl-Client-Cert", "Ssl-Client-Verify", "X-Client-Cert", "X-Client-Verify", "X-Arr-Clientcert",
		"X-Amzn-Mtls-Clientcert",
		// The name.
		"Remote-User", "Remote-Email", "Remote-Groups", "X-Remote-Group", "X-Auth-Request-User", "X-Webauth-User",
		"X-Authentik-Username", "X-Authenticated-Userid",
		"X-Ms-Client-Principal-Name", "X-Goog-Authenticated-User-Email", "X-Amzn-Oidc-Identity",
		"Cf-Access-Authenticated-User-Email", "Tailscale-User-Login",
		"X-Auth-Couchdb-Username", "X-Auth-Couchdb-Roles", "X-Auth-Couchdb-Token", "X-Consumer-Username", "X-Consumer-Groups",
		"X-Credential-Identifier", "X-Anonymous-Consumer",
		"X-Userinfo", "X-Pomerium-Jwt-Assertion", "X-Pomerium-Claim-Email", "X-Hasura-Role", "X-Hasura-User-Id",
		"X-Scope-Orgid", "X-Vouch-User", "Teleport-Jwt-Assertion",
		"X-Ms-Token-Aad-Id-Token", "X-Goog-Iap-Jwt-Assertion", "X-Apigateway-Api-Userinfo", "X-Endpoint-Api-Userinfo",
		"X-Jwt-Payload", "X-Jwt-Claim-Sub", "X-Jwt-Assertion", "X-Auth-Username",
		"X-Auth-Userid", "X-Auth-Subject", "X-Auth-Roles", "X-Auth-Groups", "Oidc-Claim-Sub", "Shib-Session-Id", "Sm-User",
		"Sm-Userdn", "Iv-User", "Iv-Groups", "Iv-Creds", "Oam-Remote-User",
		// Another person.
		"Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes", "Es-Security-Runas-User",
		"X-Opendistro-Impersonate-As",
		// More of the way and of the certificate.
		"X-Proxied-Https", "Proxy-Auth-Cert", "Proxy-Ssl-Id", "Proxy-User-Dn", "Proxy-Ip", "X-Ssl-Cert", "X-Ssl-Issuer",
		"X-Tls-Client-Cert", "X-Tls-Version", "X-Forward-For", "X-Forward-Proto",
		"Real-Ip", "X-Host-Override", "X-Http-Host-Override", "X-Envoy-Internal", "X-Envoy-Peer-Metadata",
	} {
		status, _, got := arrives(t, nil, "GET /", "read", name+": 1")
		if _, arrived := got[http.CanonicalHeaderKey(name)]; status != 200 || arrived {
			t.Errorf("%s: %d, arrived: %t", name, status, arrived)
		}
	}
	for _, name := range []string{"X-Real", "Cf-Ray", "X-Request-Id", "Idempotency-Key", "Client-Version",
		"X-Client-Version", "Remote-Control", "Httpsx", "Via-App", "X-Client-Data", "X-Ssl",
		"X-Auth-Token", "X-Auth-Key", "X-Auth-Email", "X-Consumer", "X-Scope", "Impersonate", "X-Hasura", "X-Vault-Token",
		"X-Jwt", "X-User", "Shibboleth", "Proxyid", "X-Forwar"} {
		status, _, got := arrives(t, nil, "GET /", "read", name+": 1")
		if strings.Join(got[http.CanonicalHeaderKey(name)], "") != "1" || status != 200 {
			t.Errorf("%s: %d, it does not arrive", name, status)
		}
	}
}

// The operator names the headers that only a proxy of this API may set: no list has all of them.
func TestAttackClientSetsAHeaderThatTheOperatorHasReserved(t *testing.T) {
	reserve := func(c *ProxyConfig) { c.ReservedHeaders = []string{"X-Company-User", "x-tenant-*", "Remote-*"} }
	for name, want := range map[string]bool{
		"X-Company-User": false, "x-company-user": false, "X-Tenant-": false, "X-Tenant-Id": false, "X-TENANT-A-B": false,
		"Remote-Control":  false,
		"X-Company-Users": true, "X-Company": true, "X-Tenant": true, "X-Other": true,
	} {
		status, _, got := arrives(t, reserve, "GET /", "read", name+": 1")
		if _, arrived := got[http.CanonicalHeaderKey(name)]; status != 200 || arrived != want {
			t.Errorf("%s: %d, arrived: %t", name, status, arrived)
		}
	}
	// What the proxy itself sets arrives nevertheless.
	_, _, got := arrives(t, func(c *ProxyConfig) { c.ReservedHeaders = []string{"X-*"} }, "GET /", "read",
		"X-Token-Scope: admin", "X-Forwarded-For: 10.0.0.1")
	if got.Get("X-Token-Scope") != "read" || got.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("the upstream got %v", got)
	}
	for _, name := range []string{"", "*", "X_A", "X A", "X-*-A", "X-A:", "Ünicode", "**", "Authorization",
		"authorization", "Auth*", "Host", "Content-*", "Connection", "upgrade"} {
		_, err := NewProxy(ProxyConfig{Upstream: parseURL(t, "http://api.example"),
			Guard: newGuard(t, GuardConfig{Verifier: &counter{}}), Rules: proxyRules, ReservedHeaders: []string{"X-A", name}})
		if err == nil || !strings.Contains(err.Error(), "ReservedHeaders") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
