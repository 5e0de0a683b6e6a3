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
		"Client-Ip", "X-Cluster-Client-Ip", "Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip", "X-Remote-Addr", "X-Remote-Ip",
		"X-Originating-Ip", "X-Forwarded", "Forwarded-For", "True-Client-Ip", "X-Real-Ip", "X-Real-Port", "X-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip",
		"X-Azure-Socketip", "X-Appengine-User-Ip", "X-Vercel-Forwarded-For", "X-Nf-Client-Connection-Ip", "Do-Connecting-Ip", "Proxy-Client-Ip", "Wl-Proxy-Client-Ip",
		"Http-Client-Ip", "X-Envoy-External-Address", "Cloudfront-Viewer-Address", "Incap-Client-Ip", "X-Sucuri-Clientip", "Cdn-Src-Ip", "Ali-Cdn-Real-Ip",
		// The scheme.
		"Https", "X-Https", "Front-End-Https", "Cloudfront-Forwarded-Proto", "Cf-Visitor", "Fastly-Ssl", "X-Arr-Ssl", "X-Client-Proto", "X-Protocol",
		// The certificate.
		"X-Ssl-Client-Cert", "Ssl-Client-Cert", "Ssl-Client-Verify", "X-Client-Cert", "X-Client-Verify", "X-Arr-Clientcert", "X-Amzn-Mtls-Clientcert",
		// The name.
		"Remote-User", "Remote-Email", "Remote-Groups", "X-Remote-Group", "X-Auth-Request-User", "X-Webauth-User", "X-Authentik-Username", "X-Authenticated-Userid",
		"X-Ms-Client-Principal-Name", "X-Goog-Authenticated-User-Email", "X-Amzn-Oidc-Identity", "Cf-Access-Authenticated-User-Email", "Tailscale-User-Login",
	} {
		status, _, got := arrives(t, nil, "GET /", "read", name+": 1")
		if _, arrived := got[http.CanonicalHeaderKey(name)]; status != 200 || arrived {
			t.Errorf("%s: %d, arrived: %t", name, status, arrived)
		}
	}
	for _, name := range []string{"X-Real", "Cf-Ray", "X-Request-Id", "Idempotency-Key", "Client-Version", "X-Client-Version", "Remote-Control", "Httpsx", "Via-App", "X-Client-Data", "X-Ssl"} {
		status, _, got := arrives(t, nil, "GET /", "read", name+": 1")
		if strings.Join(got[http.CanonicalHeaderKey(name)], "") != "1" || status != 200 {
			t.Errorf("%s: %d, it does not arrive", name, status)
		}
	}
}
