package clients

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// samples returns programs for an application. a is the application with the rights that it has now.
func (s *server) samples(r *http.Request, a storage.Application) ([]templates.Sample, error) {
	if policy.CameByItself(a) || !simple(a) {
		return nil, nil // its developer does not read this page, or it must do more than the programs can
	}
	introspects, err := s.Provider.Resources.Introspects(r.Context(), a)
	if err != nil {
		return nil, err
	}
	var samples []templates.Sample
	for _, k := range kinds() {
		values := s.snippetValues(a)
		if !k.fits(
			a, introspects || a.MayIntrospect, &values,
		) || k.grant == policy.GrantCode && !s.Provider.Authorizations.MayBeQueries(a) {
			continue
		}
		err := s.needs(r, k, a, &values)
		if err != nil {
			return nil, err
		}
		snippets, err := s.Pages.Snippets(k.id, values)
		if err != nil {
			return nil, err
		}
		if len(snippets) > 0 {
			samples = append(samples, templates.Sample{Title: k.title, Snippets: snippets})
		}
	}
	return samples, nil
}

// needs adds what the programs of a kind request and whom they ask: no more than their last line needs.
func (s *server) needs(r *http.Request, k kind, a storage.Application, values *templates.SnippetValues) error {
	allowed := s.Provider.Rules.AllowedScopes(a)
	scopes := oauth.Narrow(allowed, s.Provider.ResourceScopes())
	switch {
	case k.introspects:
		scopes = s.Provider.ResourceScopes() // what others have been given
	case values.Resource != "":
		audience, err := s.Provider.Resources.Requested(r.Context(), a, []string{values.Resource})
		if _, refused := oauth.Refused(err); err != nil && !refused {
			return err
		}
		scopes = slices.DeleteFunc(scopes, func(name string) bool { return err != nil || !audience.HasScope(name) })
	// OIDC Core §5.3.2: UserInfo is a JWT for an application that has registered an algorithm.
	case k.grant != policy.GrantClient && slices.Contains(allowed, "openid") && a.UserInfoAlgorithm == "":
		values.UserInfoURL = s.Absolute("/o/userinfo/")
		values.Scope = strings.Join(oauth.Narrow(allowed, []string{"openid", "profile"}), " ")
		return nil
	}
	values.Scope = strings.Join(scopes[:min(1, len(scopes))], " ")
	return nil
}

// simple reports whether the programs can do what an application must: they send its secret in
// the body, if it has one, and no other proof.
func simple(a storage.Application) bool {
	return a.SenderConstraint == "" && clientauth.MayPostSecret(a)
}

// needsLibrary reports whether an application must do more than the programs can.
func (s *server) needsLibrary(a storage.Application) bool {
	queries := !policy.HasGrant(a, policy.GrantCode) || s.Provider.Authorizations.MayBeQueries(a)
	return !policy.CameByItself(a) && !(simple(a) && queries)
}

// snippetValues returns what the programs for an application contain, whatever their kind.
func (s *server) snippetValues(a storage.Application) templates.SnippetValues {
	values := templates.SnippetValues{
		Issuer:        s.Provider.Issuer(),
		AuthorizeURL:  s.Absolute("/o/authorize/"),
		TokenURL:      s.Absolute("/o/token/"),
		IntrospectURL: s.Absolute("/o/introspect/"),
		DeviceURL:     s.Absolute("/o/device_authorization/"),
		ClientID:      a.ClientID,
	}
	if resources := web.Lines(a.Resources); len(resources) > 0 {
		values.Resource = resources[0]
	}
	return values
}

// fits reports whether an application is of a kind, and adds the redirect URI for it.
func (k kind) fits(a storage.Application, introspects bool, values *templates.SnippetValues) bool {
	public := a.ClientType == policy.Public
	switch {
	case !policy.HasGrant(a, k.grant) || public != k.public:
		return false
	case k.grant == policy.GrantClient:
		return introspects == k.introspects
	case k.grant == policy.GrantDevice:
		return true
	case k.id == "website":
		return redirectTo(a, values, func(u *url.URL) bool { return strings.HasPrefix(u.Scheme, "http") })
	case k.id == "browser":
		// A page of a developer's own computer has a port. A native application chooses one.
		return redirectTo(a, values, func(u *url.URL) bool {
			return strings.HasPrefix(u.Scheme, "http") && (u.Port() != "" || !nativeLoopback(u, values))
		})
	case k.id == "native":
		return redirectTo(a, values, func(u *url.URL) bool { return nativeLoopback(u, values) })
	}
	return false
}

// redirectTo adds the first suitable redirect URI of an application to the values.
func redirectTo(a storage.Application, values *templates.SnippetValues, suits func(*url.URL) bool) bool {
	for _, uri := range web.Lines(a.RedirectURIs) {
		u, err := url.Parse(uri)
		if err != nil || u.Host == "" || !suits(u) {
			continue
		}
		values.Redirect, values.RedirectPath, values.StartPath = uri, u.EscapedPath(), "/"
		if values.RedirectPath == "" {
			values.RedirectPath = "/"
		}
		if values.RedirectPath == "/" {
			values.StartPath = "/sign-in/"
		}
		values.StartURL = u.Scheme + "://" + u.Host + values.StartPath
		values.Port = ownPort(u)
		return true
	}
	return false
}

// ownPort returns the port at which a website listens on the developer's computer: that of the
// redirect URI if it leads there, so that the program receives the answer without a proxy.
func ownPort(u *url.URL) uint64 {
	if u.Scheme == "http" && loopback.InBrowser(u.Hostname()) {
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err == nil && port > 0 {
			return port
		}
	}
	return 8080
}

// nativeLoopback reports whether a redirect URI leads to a loopback address, which may have any
// port (RFC 8252 §7.3), and adds the address to the values.
func nativeLoopback(u *url.URL, values *templates.SnippetValues) bool {
	address, err := netip.ParseAddr(u.Hostname())
	if err != nil || !address.IsLoopback() || u.Scheme != "http" {
		return false
	}
	values.LoopbackHost, values.LoopbackLiteral = address.String(), address.String()
	if address.Is6() {
		values.LoopbackLiteral = "[" + address.String() + "]"
	}
	return true
}
