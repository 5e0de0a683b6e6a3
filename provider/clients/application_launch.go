package clients

import (
	"net/url"
	"slices"

	"mandate/provider/authority"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// WrongLaunch says what is wrong with an address to which the start page links, or returns "". A page of this server
// links to it, so javascript: would run here, and everybody who uses this server would see a password in it.
func WrongLaunch(raw string) string {
	if wrong := redirect.CheckText(raw); wrong != "" {
		return wrong
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "is not a URL"
	}
	plain := u.Scheme == "http" && loopback.InBrowser(u.Hostname())
	if u.Scheme != "https" && !plain || u.Opaque != "" || u.Hostname() == "" {
		return "must begin with https://, or with http:// for 127.0.0.1, [::1] and localhost"
	}
	return authority.Check(raw)
}

// checkLaunchURL checks where people open the application. An owner without administrator rights may lead people only
// to a host to which the application sends them anyway: the start page shows it under the name that the owner chose.
func checkLaunchURL(found *oauth.Invalid, actor policy.Actor, r Registration, was storage.Application) {
	if r.LaunchURL == "" || r.LaunchURL == was.LaunchURL {
		return
	}
	checkURIs(found, "launch_url", []string{r.LaunchURL}, func(uri string) string {
		wrong := WrongLaunch(uri)
		if wrong == "" && !actor.Administers() && !hasHostOf(uri, r.RedirectURIs) {
			return "must have the host of a redirect URI of the application: an administrator can set another one"
		}
		return wrong
	})
}

// hasHostOf reports whether a URL has the host of one of the redirect URIs that browsers open themselves.
func hasHostOf(raw string, uris []string) bool {
	host := hostOfURL(raw)
	return host != "" && slices.ContainsFunc(uris, func(uri string) bool {
		u, err := url.Parse(uri)
		return err == nil && (u.Scheme == "https" || u.Scheme == "http") && hostOfURL(uri) == host
	})
}

// LaunchOf returns the address where people open an application, or "". An application that describes itself has its
// own page, as far as that has the host of a redirect URI.
func LaunchOf(a storage.Application, language string) string {
	if a.LaunchURL != "" && WrongLaunch(a.LaunchURL) == "" {
		return a.LaunchURL
	}
	return PagesOf(a, language).Home
}
