package clients

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/authority"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// MayCall reports whether this server calls a URI of a new application, as far as the URI says.
func (p *Clients) MayCall(uri, clientType string, of storage.Application) bool {
	return p.checkOutboundURI(uri, clientType, of) == ""
}

// checkOutboundURI says what is wrong with an address that the server is to call for an
// application, or returns "". was is the application before the change.
func (p *Clients) checkOutboundURI(uri, clientType string, was storage.Application) string {
	calls := p.outbound
	if policy.StandingOf(was) == policy.StandingOpen {
		calls = p.strangers
	}
	if wrong := redirect.CheckText(uri); wrong != "" {
		return wrong
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "is not a URI"
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "must be an absolute URI that begins with https://"
	case u.Scheme == "http" && clientType == policy.Public:
		// OIDC Back-Channel §2.2
		return "may begin with http:// only if the application is confidential"
	}
	if wrong := authority.Check(uri); wrong != "" {
		return wrong
	}
	host := u.Hostname()
	if loopback.IsName(host) {
		host = "127.0.0.1"
	}
	literal, err := netip.ParseAddr(host)
	if err == nil && !calls.Allows(literal) {
		return "has an address in a network that this server does not call: its operator can add the network to " +
			"OUTBOUND_ALLOWED_NETWORKS"
	}
	return ""
}

// wrongFetchedURI says what is wrong with an address where the server is to read what an application
// publishes, or returns "".
func (p *Clients) wrongFetchedURI(uri string, was storage.Application) string {
	u, err := url.Parse(uri)
	switch {
	// OIDC Registration §2, RFC 9101 §5.2: the address has the scheme https.
	case err != nil || u.Scheme != "https":
		return "must begin with https://"
	case len(uri) > 2048:
		return "must be at most 2048 bytes long"
	case policy.StandingOf(was) == policy.StandingOpen && !p.config.Open.AllowsHost(u):
		return "has a host that OPEN_HOSTS of this server does not list"
	}
	return p.checkOutboundURI(uri, policy.Confidential, was) // the type decides about http alone
}

// SharedHost reports whether a URL has the host of one of the redirect URIs.
func SharedHost(raw string, uris []string) bool {
	host := hostOfURL(raw)
	return host != "" &&
		slices.ContainsFunc(uris, func(uri string) bool { return strings.HasPrefix(uri, "https:") && hostOfURL(uri) == host })
}

// hostOfURL returns the host of a URL in lower case, or "" if a browser could read another one.
func hostOfURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || authority.Check(raw) != "" {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// hostOf returns the host that all redirect URIs have in common, or "" (OIDC Core §8.1). Nobody proves to have the host
// in a private-use scheme, so it is never that of a website too. An application that already had both with its sector
// keeps it.
func hostOf(r Registration, was storage.Application) string {
	host, private := "", 0
	for i, uri := range r.RedirectURIs {
		u, err := url.Parse(uri)
		if err != nil || i > 0 && strings.ToLower(u.Hostname()) != host {
			return ""
		}
		host = strings.ToLower(u.Hostname())
		if u.Scheme != "https" && u.Scheme != "http" {
			private++
		}
	}
	if private > 0 && private < len(r.RedirectURIs) && !keepsSector(host, was) {
		return ""
	}
	return host
}

func (p *Clients) checkRedirectURIs(found *oauth.Invalid, actor policy.Actor, r Registration, was storage.Application) {
	// RFC 6749 §3.1.2.2: a client that uses the redirection endpoint registers its
	// redirect URI.
	if len(r.RedirectURIs) == 0 && slices.Contains(r.GrantTypes, policy.GrantCode) {
		found.Add("redirect_uris", "The authorization code grant needs at least one redirect URI.")
	}
	checkURIs(found, "redirect_uris", r.RedirectURIs, p.redirectCheck(actor, r, was, was.RedirectURIs))
}

// redirectCheck returns what checks the redirect URIs of a registration. known are those that the application has
// already. Only somebody with administrator rights registers a weak one, and only for an application for which such a
// person is responsible. It stays registered when that changes, and has no effect then (policy.Effective).
func (p *Clients) redirectCheck(actor policy.Actor, r Registration, was storage.Application,
	known string) func(string) string {
	rules, vouched := p.Redirects(was), p.Redirects(was)
	vouched.Vouched = true
	may := actor.Administers() && p.rules.AllowanceOf(was).AdministratorRights
	return func(uri string) string {
		wrong, weak := rules.Check(uri), redirect.WeaknessOf(uri)
		if wrong == "" || weak == "" || !may && !slices.Contains(oauth.Lines(known), uri) {
			return wrong
		}
		wrong = vouched.Check(uri)
		// OIDC Core §3.1.2.1: http only if the client is confidential.
		if wrong == "" && weak == redirect.Plain && r.ClientType != policy.Confidential {
			wrong = "may begin with http:// only if the application is confidential"
		}
		return wrong
	}
}

const maxURIs = 100 // of one kind, for one application

// checkURIs notes at one field what is wrong with each of its URIs, on a line for each.
func checkURIs(found *oauth.Invalid, field string, uris []string, check func(string) string) {
	if len(uris) > maxURIs {
		found.Add(field, "Register at most %d URIs.", maxURIs)
	}
	var mistakes []string
	for _, uri := range uris {
		if wrong := check(uri); wrong != "" {
			mistakes = append(mistakes, oauth.Clip(uri, 120)+" "+wrong+".")
		}
	}
	if len(mistakes) > 0 {
		found.Add(field, "%s", strings.Join(mistakes, "\n"))
	}
}
