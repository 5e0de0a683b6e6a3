package checkup

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// reachable reports whether the metadata comes, and from this server alone.
func (s Site) reachable(a answer, path string) Finding {
	wrong := Finding{Check: "reachable", Weight: Wrong, About: s.BaseURL + path}
	switch {
	case isCertificate(a.err):
		return Finding{Check: "reachable", Weight: Wrong, About: wrong.About,
			Text: "No TLS connection: the certificate is not accepted.", Remedy: "See the finding about the certificate."}
	case a.err != nil:
		wrong.Text, wrong.Remedy = "BASE_URL does not answer: "+a.err.Error(), whyUnreachable(a.err)
	case a.StatusCode >= 300 && a.StatusCode < 400:
		wrong.Text = "BASE_URL redirects to " + clip(a.Header.Get("Location")) + ". Libraries do not follow a redirect of " +
			"the metadata."
		wrong.Remedy = "Set BASE_URL to the address to which it redirects, or remove the redirect from the proxy."
	case a.StatusCode == http.StatusNotFound:
		wrong.Text = "There is no metadata at this address: status 404."
		wrong.Remedy = "Let the proxy pass all paths below BASE_URL on unchanged, also those with /.well-known/, and check " +
			"that BASE_URL has the path under which the proxy has the server."
	case a.StatusCode == http.StatusBadGateway, a.StatusCode == http.StatusServiceUnavailable,
		a.StatusCode == http.StatusGatewayTimeout:
		wrong.Text = "The proxy answers, and the server behind it does not: status " + http.StatusText(a.StatusCode) + "."
		wrong.Remedy = "Start mandate serve, and compare LISTEN with the address in the configuration of the proxy. The " +
			"log of the server names an outage of its database."
	case a.StatusCode != http.StatusOK:
		wrong.Text = "The metadata has the status " + a.Status + "."
		wrong.Remedy = "Metadata needs no sign-in: let the proxy pass it on without authentication."
	default:
		return fine("reachable", "BASE_URL answers with the metadata.")
	}
	return wrong
}

func whyUnreachable(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "Add the host name of BASE_URL to the DNS, or correct BASE_URL."
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "Open the port in the firewall, also for this machine, and check that the proxy reaches the server."
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return "The port speaks HTTP without TLS: give the proxy a certificate, or write http:// in BASE_URL."
	}
	return "Start mandate serve, and the proxy in front of it. Check the host and the port of BASE_URL."
}

func isCertificate(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return unknown || host || invalid
}

// renewal is how long a certificate must be valid. Those that renew themselves are renewed long before.
const renewal = 14 * 24 * time.Hour

// certificate checks what a client checks before it sends anything (RFC 9325 §5, RFC 9110 §4.3.4).
func (s Site) certificate(a answer) Finding {
	wrong := Finding{Check: "certificate", Weight: Wrong, About: s.BaseURL}
	base, err := url.Parse(s.BaseURL)
	if err == nil && base.Scheme == "http" {
		if name := base.Hostname(); isLoopback(name) {
			return fine("certificate", "BASE_URL is on this machine, without TLS.")
		}
		wrong.Text, wrong.Remedy = "BASE_URL has no TLS, so everybody on the network reads passwords and tokens.",
			"Put a proxy with a certificate in front of the server, or set TLS_CERTIFICATE_FILE, and write https:// in BASE_URL."
		return wrong
	}
	if _, ok := errors.AsType[x509.HostnameError](a.err); ok {
		wrong.Text, wrong.Remedy = "The certificate is for another host: "+a.err.Error(),
			"Get a certificate with the host of BASE_URL, or correct BASE_URL."
		return wrong
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](a.err); ok {
		wrong.Text, wrong.Remedy = "The certificate is not valid: "+a.err.Error(),
			"Renew the certificate. If it is new, check the clock of this machine."
		if invalid.Reason != x509.Expired {
			wrong.Remedy = "Get another certificate for BASE_URL."
		}
		return wrong
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](a.err); ok {
		wrong.Text = "No authority that this machine trusts has issued the certificate: " + a.err.Error()
		wrong.Remedy = "Send the certificates of the intermediate authorities too. Install the authority on every machine " +
			"with an application, if it is your own; for this command, SSL_CERT_FILE names it."
		return wrong
	}
	if a.Response == nil || a.TLS == nil || len(a.TLS.PeerCertificates) == 0 {
		return Finding{Check: "certificate", Weight: Doubtful, About: s.BaseURL, Text: "The certificate could not be read.",
			Remedy: "See the finding about the connection."}
	}
	until := a.TLS.PeerCertificates[0].NotAfter
	if left := until.Sub(s.Now()); left < renewal {
		return Finding{Check: "certificate", Weight: Doubtful, About: s.BaseURL, Text: "The certificate expires at " +
			until.UTC().Format(time.RFC3339) + ".", Remedy: "Renew it, and check that what renews it still runs."}
	}
	return fine("certificate", "The certificate is valid until %s.", until.UTC().Format(time.RFC3339))
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// tolerance is the difference of clocks that libraries usually accept in iat, nbf and exp.
const tolerance = 30 * time.Second

// clock compares the clock of the server with that of this machine.
func (s Site) clock(a answer) Finding {
	at, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return Finding{Check: "clock", Weight: Doubtful, Text: "The response has no Date.",
			Remedy: "Let the proxy pass the header Date on."}
	}
	difference := s.Now().Sub(at).Round(time.Second)
	if difference.Abs() <= tolerance {
		return fine("clock", "The clocks of BASE_URL and of this machine agree.")
	}
	return Finding{Check: "clock", Weight: Wrong, Text: "The clock of this machine differs by " + difference.String() +
		" from that of BASE_URL. Applications refuse tokens that are issued in their future.",
		Remedy: "Set the clocks of all machines by NTP."}
}

// read reads the metadata.
func read(a answer) (map[string]any, Finding) {
	wrong := Finding{Check: "metadata", Weight: Wrong, Remedy: "Let the proxy pass /o/.well-known/ on to this server, " +
		"and to no other program."}
	var document map[string]any
	if a.err != nil {
		wrong.Text = "The metadata cannot be read: " + a.err.Error()
		return nil, wrong
	}
	err := json.Unmarshal(a.body, &document)
	if err != nil {
		wrong.Text = "What stands at the address of the metadata is no JSON object. It begins with " +
			clip(string(a.body)) + "."
		return nil, wrong
	}
	if !isJSON(a.Header) {
		wrong.Text, wrong.Remedy = "The metadata has the Content-Type "+clip(a.Header.Get("Content-Type"))+".",
			"RFC 8414 §3.2 requires application/json: let the proxy pass the header on."
		return document, wrong
	}
	return document, fine("metadata", "The metadata is a JSON object.")
}

// issuer compares the issuer with the one that this configuration gives it.
//
// RFC 8414 §3.3, OIDC Discovery §4.3: the issuer is the address from which the metadata was read, character by
// character.
func (s Site) issuer(document map[string]any) Finding {
	want := s.BaseURL + "/o"
	if got, _ := document["issuer"].(string); got != want {
		return Finding{Check: "issuer", Weight: Wrong, Text: "The metadata at BASE_URL has the issuer " + clip(got) +
			", and this configuration has " + want + ".",
			Remedy: "Another server or an older process answers: restart mandate serve with this configuration, and check " +
				"where the proxy leads."}
	}
	return fine("issuer", "Applications must have exactly this issuer: %s", want)
}

// endpoints checks that each address of the metadata is one of this server.
func (s Site) endpoints(document map[string]any) Finding {
	var elsewhere []string
	for name, value := range document {
		at, isText := value.(string)
		if isText && (strings.HasSuffix(name, "_endpoint") || name == "jwks_uri") && !strings.HasPrefix(at, s.BaseURL+"/o/") {
			elsewhere = append(elsewhere, name)
		}
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		return Finding{Check: "endpoints", Weight: Wrong, Text: "These endpoints are not below BASE_URL: " +
			strings.Join(elsewhere, ", ") + ".", Remedy: "A proxy changes the metadata: turn the rewriting of bodies off."}
	}
	return fine("endpoints", "All endpoints are below BASE_URL.")
}

// crossOrigin checks that scripts of other sites can read the metadata (Fetch, CORS check).
func crossOrigin(a answer) Finding {
	switch values := a.Header.Values("Access-Control-Allow-Origin"); {
	case len(values) == 1 && (values[0] == "*" || values[0] == "https://application.invalid"):
		return fine("cors", "Applications in a browser can read the metadata.")
	case len(values) > 1 || len(values) == 1 && strings.Contains(values[0], ","):
		return Finding{Check: "cors", Weight: Wrong, Text: "The response has Access-Control-Allow-Origin twice, so " +
			"browsers refuse it to applications in a browser.", Remedy: "The server sends the header itself: remove it from " +
			"the proxy."}
	}
	return Finding{Check: "cors", Weight: Doubtful, Text: "Applications in a browser cannot read the metadata: " +
		"Access-Control-Allow-Origin is missing.", Remedy: "Let the proxy pass the headers of the server on."}
}

// otherPlaces asks where RFC 8414 §3.1 puts the metadata of an issuer with a path: at the root of the host.
func (s Site) otherPlaces(ctx context.Context, path string) Finding {
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return Finding{Check: "well-known", Weight: Wrong, Text: "BASE_URL is not a URL.", Remedy: "Correct BASE_URL."}
	}
	const metadata = "/.well-known/oauth-authorization-server"
	root := s
	root.BaseURL = base.Scheme + "://" + base.Host
	at := metadata + base.EscapedPath() + "/o"
	a := root.ask(ctx, http.MethodGet, at)
	if a.err != nil || a.StatusCode != http.StatusOK || !isJSON(a.Header) {
		return Finding{Check: "well-known", Weight: Doubtful, About: root.BaseURL + at,
			Text: "The metadata is not where RFC 8414 §3.1 puts it. Agents of the Model Context Protocol and others read it " +
				"there.",
			Remedy: "Let the proxy pass " + metadata + base.EscapedPath() + "/o at the root of the host on too."}
	}
	return fine("well-known", "The metadata is also where RFC 8414 §3.1 puts it.")
}

// keysPath is where the public keys are, below the base URL.
const keysPath = "/o/.well-known/jwks.json"

// errors checks that an error of the server comes through as it is. A method that is not allowed is no refused request.
func (s Site) errors(ctx context.Context) Finding {
	wrong := Finding{Check: "errors", Weight: Wrong, About: s.BaseURL + keysPath}
	a := s.ask(ctx, http.MethodPost, keysPath)
	var body struct {
		Error string `json:"error"`
	}
	switch {
	case a.err != nil:
		wrong.Text, wrong.Remedy = "A POST gets no answer: "+a.err.Error(), "Let the proxy pass POST on."
	case a.StatusCode != http.StatusMethodNotAllowed:
		wrong.Text, wrong.Remedy = "A POST that the server refuses comes back with the status "+a.Status+".",
			"Let the proxy pass POST on, with the status of the server."
	case json.Unmarshal(a.body, &body) != nil || body.Error == "":
		wrong.Text, wrong.Remedy = "The proxy replaces the errors of the server by a page of its own, so no application "+
			"sees why it is refused.", "Turn that off: proxy_intercept_errors off in nginx, ProxyErrorOverride Off in Apache."
	case !strings.Contains(a.Header.Get("Cache-Control"), "no-store"):
		wrong.Text, wrong.Remedy = "The proxy removes Cache-Control: no-store, so a cache may keep tokens.",
			"Let the proxy pass the headers of the server on."
	default:
		return fine("errors", "Errors of the server come through the proxy.")
	}
	return wrong
}

// authorization checks that the header Authorization comes through. The token is invented, and UserInfo counts no
// refusals.
//
// RFC 6750 §3.1: a request without any token gets a challenge without an error code.
func (s Site) authorization(ctx context.Context) Finding {
	a := s.ask(ctx, http.MethodGet, "/o/userinfo/", "Authorization", "Bearer mandate-doctor-no-token")
	if a.err == nil && a.StatusCode == http.StatusUnauthorized && strings.Contains(a.Header.Get("WWW-Authenticate"),
		"invalid_token") {
		return fine("authorization", "The header Authorization reaches the server.")
	}
	wrong := Finding{Check: "authorization", Weight: Wrong, About: s.BaseURL + "/o/userinfo/",
		Text: "The header Authorization does not reach the server, or WWW-Authenticate does not come back: client " +
			"secrets and tokens in it do not count.",
		Remedy: "Let the proxy pass both headers on, and turn its own authentication off for these paths."}
	if a.err != nil {
		wrong.Text, wrong.Remedy = "UserInfo does not answer: "+a.err.Error(), whyUnreachable(a.err)
	}
	return wrong
}

// keys reads the key set. It asks at its place below BASE_URL, whatever the metadata names.
func (s Site) keys(ctx context.Context, document map[string]any) ([]map[string]any, Finding) {
	wrong := Finding{Check: "jwks", Weight: Wrong, About: s.BaseURL + keysPath}
	if _, named := document["jwks_uri"]; !named && !s.OpenID {
		return nil, fine("jwks", "The server signs nothing, so it has no keys.")
	}
	a := s.ask(ctx, http.MethodGet, keysPath)
	if a.err != nil || a.StatusCode != http.StatusOK {
		wrong.Text, wrong.Remedy = "The keys cannot be read, so no application can verify a token.",
			"Let the proxy pass the path on. The log of the server has the reason of an error."
		return nil, wrong
	}
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	err := json.Unmarshal(a.body, &set)
	if err != nil || len(set.Keys) == 0 {
		wrong.Text, wrong.Remedy = "The key set is no JSON object with keys (RFC 7517 §5).",
			"Let the proxy pass the path on to this server."
		return nil, wrong
	}
	for _, k := range set.Keys {
		if k["d"] != nil || k["k"] != nil {
			wrong.Text, wrong.Remedy = "The key set contains a private key.", "Take the server down, and replace the key: "+
				"mandate keys rotate."
			return set.Keys, wrong
		}
	}
	return set.Keys, fine("jwks", "The server publishes %d keys.", len(set.Keys))
}

// same compares the published keys with those of the database. While keys are replaced, some differ: one that is the
// same is enough.
func (s Site) same(keys []map[string]any) Finding {
	for _, k := range keys {
		if id, _ := k["kid"].(string); slices.Contains(s.KeyIDs, id) {
			return fine("same-server", "The server at BASE_URL has a key of this database.")
		}
	}
	return Finding{Check: "same-server", Weight: Wrong, About: s.BaseURL,
		Text: "Another server answers at BASE_URL: it publishes none of the keys of this database. What you change here " +
			"has no effect there.",
		Remedy: "Check which process has the port, where the proxy leads, and that --config and DATABASE_URL are those of " +
			"the server that runs. After you have retired all keys, wait until no proxy has a copy of the old ones."}
}

// clip shortens a text of a response, which may be that of anybody.
func clip(text string) string {
	const longest = 80
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, text)
	if len(printable) > longest {
		printable = printable[:longest] + "..."
	}
	return `"` + printable + `"`
}
