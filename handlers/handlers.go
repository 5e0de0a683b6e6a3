// Package handlers speaks HTTP for the provider. It reads a request, asks the
// provider, and writes the answer: JSON for programs, pages for people.
package handlers

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"mandate/handlers/resource"
	"mandate/provider"
	"mandate/templates"
)

// Config is what an operator decides about the HTTP side. Only BaseURL is
// required.
type Config struct {
	BaseURL  *url.URL // where browsers and clients reach the server; a path of it is the prefix of every route
	LoginURL string   // where a visitor is sent who is not signed in; empty: our own page

	// TrustedProxies are believed when they say whom they speak for.
	TrustedProxies []netip.Prefix
	MaxBodyBytes   int64 // 0: 64 KiB

	SampleAPI             *resource.Guard // nil: there is no sample API
	ReadScope, WriteScope string          // what the sample API asks for; empty: read and write

	OpenID     bool  // the OpenID Connect endpoints are there
	RPLogout   bool  // applications may send people to log out
	JWKSMaxAge int64 // seconds

	Log *slog.Logger // nil: nothing is logged

	Watch    Watch
	Stopping <-chan struct{} // closed: send nobody here any more
	// OwnOps: health and readiness are told elsewhere, by NewOps.
	OwnOps bool
}

type server struct {
	config   Config
	provider *provider.Provider
	pages    *templates.Pages
	log      *slog.Logger

	origin string // scheme://host[:port] of BaseURL
	base   string // its path, without a last slash
	secure bool   // browsers reach us over https

	nowhere  func(Seen) // told of requests to no route
	refusals refusals

	ownForms   *http.CrossOriginProtection // for what a person's cookie does
	loginForms *http.CrossOriginProtection // the same, and the operator's own login page
}

// New makes the handler of all routes.
func New(c Config, p *provider.Provider, pages *templates.Pages) (http.Handler, error) {
	if c.BaseURL == nil || c.BaseURL.Host == "" || c.BaseURL.Scheme != "http" && c.BaseURL.Scheme != "https" {
		return nil, errors.New("the base URL must be absolute: http:// or https:// and a host")
	}
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = 64 << 10
	}
	if c.ReadScope == "" {
		c.ReadScope = "read"
	}
	if c.WriteScope == "" {
		c.WriteScope = "write"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{config: c, provider: p, pages: pages, log: c.Log,
		origin: c.BaseURL.Scheme + "://" + c.BaseURL.Host, base: strings.TrimRight(c.BaseURL.EscapedPath(), "/"),
		secure: c.BaseURL.Scheme == "https", ownForms: http.NewCrossOriginProtection(), loginForms: http.NewCrossOriginProtection()}
	err := s.trustOrigins()
	if err != nil {
		return nil, err
	}
	s.nowhere = s.watch(unmatched)
	return s.observe(s.routes()), nil
}

// trustOrigins names the origins whose forms are taken. Our own is named
// because a proxy may have put another name into Host.
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
	// A login page of the operator's own posts name and password to us. That is
	// all it may post.
	err = s.loginForms.AddTrustedOrigin(login.Scheme + "://" + login.Host)
	if err != nil {
		return fmt.Errorf("login URL: %w", err)
	}
	return nil
}

// path is a path of ours as it stands in a URL.
func (s *server) path(p string) string { return s.base + p }

// absolute is a path of ours as somebody elsewhere must write it.
func (s *server) absolute(p string) string { return s.origin + s.base + p }
