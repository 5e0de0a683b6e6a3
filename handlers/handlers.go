// Package handlers implements the HTTP side of the provider. It reads a request,
// calls the provider, and writes the response: JSON for programs, HTML pages for
// people.
package handlers

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/resource"
	"mandate/provider"
	"mandate/provider/checkup"
	"mandate/provider/loopback"
	"mandate/templates"
)

// Config contains the operator's settings for HTTP. Only BaseURL is required.
type Config struct {
	BaseURL  *url.URL // where browsers and clients reach the server; its path is the prefix of every route
	LoginURL string   // the login page; empty: the built-in page

	// TrustedProxies are the proxies whose X-Forwarded-For and X-Request-Id are
	// used.
	TrustedProxies []netip.Prefix
	// CertificateHeader is the header in which these proxies pass the certificate of a client.
	CertificateHeader string
	MaxBodyBytes      int64 // 0: 64 KiB

	SampleAPI             *resource.Guard // nil: the sample API is off
	ReadScope, WriteScope string          // the scopes of the sample API; empty: read and write

	OpenID       bool  // turns the OpenID Connect endpoints on
	RPLogout     bool  // turns RP-initiated logout on
	Registration bool  // turns the registration endpoint on
	JWKSMaxAge   int64 // seconds

	Log *slog.Logger // nil: nothing is logged

	// Known is what the settings alone tell about the way to the server.
	Known []checkup.Finding

	Watch    request.Watch
	Stopping <-chan struct{} // closed when the node shuts down: readiness then fails
	// SeparateOpsListener leaves health and readiness to the handler of NewOps.
	SeparateOpsListener bool
}

type server struct {
	config   Config
	provider *provider.Provider
	pages    *templates.Pages
	requests *request.Observer

	origin string // scheme://host[:port] of BaseURL
	base   string // its path, without the final slash
	secure bool   // browsers use https

	checked *lastCheck

	ownForms   *http.CrossOriginProtection // protects pages that use a person's session
	loginForms *http.CrossOriginProtection // the same, but also accepts the operator's own login page
}

// New returns the handler of all routes.
func New(c Config, p *provider.Provider, pages *templates.Pages) (http.Handler, error) {
	s, err := newServer(c, p, pages)
	if err != nil {
		return nil, err
	}
	return s.requests.Observe(s.routes()), nil
}

func newServer(c Config, p *provider.Provider, pages *templates.Pages) (*server, error) {
	if c.BaseURL == nil || c.BaseURL.Host == "" || c.BaseURL.Scheme != "http" && c.BaseURL.Scheme != "https" {
		return nil, errors.New("the base URL must be absolute: http:// or https:// and a host")
	}
	if c.ReadScope == "" {
		c.ReadScope = "read"
	}
	if c.WriteScope == "" {
		c.WriteScope = "write"
	}
	s := &server{config: c, provider: p, pages: pages, checked: newLastCheck(),
		origin: c.BaseURL.Scheme + "://" + c.BaseURL.Host, base: strings.TrimRight(c.BaseURL.EscapedPath(), "/"),
		secure: c.BaseURL.Scheme == "https", ownForms: http.NewCrossOriginProtection(), loginForms: http.NewCrossOriginProtection()}
	s.requests = request.NewObserver(request.Config{TrustedProxies: c.TrustedProxies, CertificateHeader: c.CertificateHeader,
		MaxBodyBytes: c.MaxBodyBytes, OnlyHTTPS: s.secure && !loopback.IsName(c.BaseURL.Hostname()),
		Log: c.Log, Watch: c.Watch, Fail: failWith(s.pageError)})
	return s, s.trustOrigins()
}

// trustOrigins lists the origins whose forms are accepted. It includes this server's
// own origin, because a proxy may have changed the Host header.
func (s *server) trustOrigins() error {
	for _, forms := range []*http.CrossOriginProtection{s.ownForms, s.loginForms} {
		err := forms.AddTrustedOrigin(s.origin)
		if err != nil {
			return fmt.Errorf("base URL: %w", err)
		}
	}
	login, err := url.Parse(s.config.LoginURL)
	if err != nil {
		return fmt.Errorf("login URL: %w", err)
	}
	if login.Host == "" {
		return nil
	}
	// The operator's own login page posts the username and the password to /login/.
	// It may post to no other page.
	err = s.loginForms.AddTrustedOrigin(login.Scheme + "://" + login.Host)
	if err != nil {
		return fmt.Errorf("login URL: %w", err)
	}
	return nil
}

// path returns the path of a page as it appears in a URL, with the base path.
func (s *server) path(p string) string { return s.base + p }

// absolute returns the full URL of a path of this server.
func (s *server) absolute(p string) string { return s.origin + s.base + p }
