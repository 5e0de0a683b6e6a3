package clients

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// checkOpenID checks the fields that belong to OpenID Connect.
func (p *Clients) checkOpenID(found *oauth.Invalid, actor policy.Actor, r Registration, was storage.Application) {
	for _, one := range []struct{ field, algorithm string }{
		{"algorithm", r.Algorithm},
		{"userinfo_algorithm", r.UserInfoAlgorithm},
	} {
		if one.algorithm == jose.HS256 {
			p.checkHMAC(found, one.field, r, was)
		} else if one.algorithm != "" && !slices.Contains(jose.Algorithms(), one.algorithm) {
			found.Add(
				one.field, "The algorithm %q is not supported: use %s or %s.", oauth.Clip(one.algorithm, 40),
				strings.Join(jose.Algorithms(), ", "), jose.HS256,
			)
		}
	}
	if r.Pairwise && r.SectorURI == "" && hostOf(r, was) == "" && !onDevice(r) {
		found.Add(
			"pairwise",
			"Pairwise subjects are derived from the host of the redirect URIs, so all redirect URIs must have the same host.",
		)
	} else if r.Pairwise && !onDevice(r) && r.withoutRedirect(was) {
		found.Add(
			"pairwise",
			"Pairwise subjects are derived from the host of the redirect URIs, and a grant type of this application needs no "+
				"redirect URI. Use authorization_code alone, or let an administrator be responsible for the application.",
		)
	}
	check := p.redirectCheck(actor, r, was, was.PostLogoutURIs)
	checkURIs(found, "post_logout_redirect_uris", r.PostLogoutURIs, func(uri string) string {
		wrong := check(uri)
		// OIDC RP-Logout §3.1
		if wrong == "" && p.config.StrictURIs && r.ClientType == policy.Public && strings.HasPrefix(uri, "http://") {
			wrong = "may begin with http:// only if the application is confidential"
		}
		return wrong
	})
	if r.BackchannelURI != "" {
		checkURIs(
			found, "backchannel_logout_uri", []string{r.BackchannelURI},
			func(uri string) string { return p.checkOutboundURI(uri, r.ClientType, was) },
		)
	}
}

// checkHMAC checks that the client secret can sign by HS256.
//
// OIDC Core §10.1: the key is the client secret. A hash of the secret cannot sign.
// OIDC Registration §2: a public client has no secret, so it cannot use HS256.
func (p *Clients) checkHMAC(found *oauth.Invalid, field string, r Registration, was storage.Application) {
	switch {
	case r.ClientType == policy.Public:
		found.Add(field, "HS256 signs with the client secret, and a public application has no secret.")
	case !clientauth.HasSecret(r.described()):
		found.Add(
			field, "HS256 signs with the client secret, and an application with a private key or a certificate has none.",
		)
	case r.HashClientSecret && (was.Algorithm == jose.HS256 || was.UserInfoAlgorithm == jose.HS256):
		found.Add(
			"hash_client_secret",
			"HS256 signs with the client secret, so the server cannot keep only a hash of it. Choose another algorithm first.",
		)
	case r.HashClientSecret:
		found.Add("hash_client_secret", "HS256 signs with the client secret, so the server cannot keep only a hash of it.")
	case was.Secret == "":
		if r.ClientSecret != "" && len(r.ClientSecret) < clientauth.MinHMACSecretBytes {
			found.Add("client_secret", "HS256 needs a secret of at least %d bytes.", clientauth.MinHMACSecretBytes)
		}
	case !clientauth.Readable(was.Secret):
		found.Add(
			field, "The server keeps only a hash of the secret. Switch that off, replace the secret, and then choose HS256.",
		)
	default:
		secret, err := p.ReadSecret(was.ID, was.Secret)
		if err != nil || len(secret) < clientauth.MinHMACSecretBytes {
			found.Add(
				field, "HS256 needs a secret of at least %d bytes. Replace the secret first.", clientauth.MinHMACSecretBytes,
			)
		}
	}
}

// sectorOf returns the sector of an application that has pairwise subjects, or "" if it
// has public subjects.
func sectorOf(r Registration, was storage.Application) string {
	host := hostOf(r, was)
	switch {
	case !r.Pairwise:
		return ""
	case r.SectorURI != "":
		// OIDC Core §8.1: the host of the sector_identifier_uri is the sector.
		return cmp.Or(hostOfURL(r.SectorURI), was.Sector)
	case onDevice(r) && !keepsSector(host, was):
		// OIDC Core §8.1: programs on people's own devices share the host of their redirect URIs and nothing else, and
		// anybody can write the host of a website into a private-use scheme. So each has a sector of its own.
		return "loopback " + was.ClientID
	}
	return host
}

// keepsSector reports whether a host is the sector of an application that already had redirect URIs on the device with
// it: an older release gave them that sector, and its subjects stay the same. A website that moves to the device does
// not keep its host: everybody can name that of somebody else, as long as the codes go there.
func keepsSector(host string, was storage.Application) bool {
	return host != "" && host == was.Sector && slices.ContainsFunc(oauth.Lines(was.RedirectURIs), isOnDevice)
}

// onDevice reports whether each redirect URI leads to a program on the person's own device. Nobody has proven there to
// have a host.
func onDevice(r Registration) bool {
	elsewhere := func(uri string) bool { return !isOnDevice(uri) }
	return len(r.RedirectURIs) > 0 && !slices.ContainsFunc(r.RedirectURIs, elsewhere)
}

func isOnDevice(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme != "https" && u.Scheme != "http" || loopback.InBrowser(strings.ToLower(u.Hostname())))
}

// withoutRedirect reports whether an application for which no administrator is responsible gets subjects without a
// redirect URI, so that nobody has proven to have their host. An application from before this rule may stay as it is.
//
// OIDC Core §8.1: the host of the redirect URIs is the sector because the subjects go there.
func (r Registration) withoutRedirect(was storage.Application) bool {
	had, same := strings.Fields(was.GrantTypes), was.Sector != "" && was.Sector == sectorOf(r, was)
	return policy.StandingOf(was) != policy.StandingAdministrator && slices.ContainsFunc(
		r.GrantTypes,
		func(name string) bool {
			kind, _ := policy.GrantOf(name)
			return kind.Person && name != policy.GrantCode && !(same && slices.Contains(had, name))
		},
	)
}
