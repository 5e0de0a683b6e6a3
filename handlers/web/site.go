// Package web is what the pages and endpoints share: the site that they belong to, the session of a person, forms,
// pages, languages, errors, and who may call a path.
package web

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

// Site is a server as its pages see it. The areas of the site embed it.
type Site struct {
	cookies

	Config   Config
	Provider *provider.Provider
	Pages    *templates.Pages
	Requests *request.Observer

	Origin string // scheme://host[:port] of BaseURL
	Base   string // its path, without the final slash

	ownForms   *http.CrossOriginProtection // protects pages that use a person's session
	loginForms *http.CrossOriginProtection // the same, but also accepts the operator's own login page
}

// New returns a site. Its base URL is checked here.
func New(c Config, p *provider.Provider, pages *templates.Pages) (*Site, error) {
	if c.BaseURL == nil || c.BaseURL.Host == "" || c.BaseURL.Scheme != "http" && c.BaseURL.Scheme != "https" {
		return nil, errors.New("the base URL must be absolute: http:// or https:// and a host")
	}
	if c.ReadScope == "" {
		c.ReadScope = "read"
	}
	if c.WriteScope == "" {
		c.WriteScope = "write"
	}
	s := &Site{
		cookies:    cookies{secure: c.BaseURL.Scheme == "https"},
		Config:     c,
		Provider:   p,
		Pages:      pages,
		Origin:     c.BaseURL.Scheme + "://" + c.BaseURL.Host,
		Base:       strings.TrimRight(c.BaseURL.EscapedPath(), "/"),
		ownForms:   http.NewCrossOriginProtection(),
		loginForms: http.NewCrossOriginProtection(),
	}
	s.Requests = request.NewObserver(request.Config{
		TrustedProxies:    c.TrustedProxies,
		CertificateHeader: c.CertificateHeader,
		MaxBodyBytes:      c.MaxBodyBytes,
		OnlyHTTPS:         s.secure && !loopback.IsName(c.BaseURL.Hostname()),
		Log:               c.Log,
		Watch:             c.Watch,
		Fail:              failWith(s.pageError),
	})
	return s, s.trustOrigins()
}

// trustOrigins lists the origins whose forms are accepted. It includes this server's
// own origin, because a proxy may have changed the Host header.
func (s *Site) trustOrigins() error {
	for _, forms := range []*http.CrossOriginProtection{s.ownForms, s.loginForms} {
		err := forms.AddTrustedOrigin(s.Origin)
		if err != nil {
			return fmt.Errorf("base URL: %w", err)
		}
	}
	login, err := url.Parse(s.Config.LoginURL)
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

// Path returns the path of a page as it appears in a URL, with the base path.
func (s *Site) Path(p string) string { return s.Base + p }

// Absolute returns the full URL of a path of this server.
func (s *Site) Absolute(p string) string { return s.Origin + s.Base + p }
