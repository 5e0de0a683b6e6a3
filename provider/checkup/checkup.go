// Package checkup looks at a running server from outside, as an application does that reads its metadata (RFC 8414 §3,
// OIDC Discovery §4) and its keys (RFC 7517 §5). It changes nothing at the server, and its requests are no refused ones
// of the event log.
package checkup

import (
	"context"
	"net/http"
)

// Check is what is looked at. Programs may rely on its name.
type Check struct{ Name, What string }

// Checks returns all checks, in the order in which they are made.
func Checks() []Check {
	return []Check{
		{"proxy", "whether the settings name the proxy that does TLS"},
		{"base-path", "whether `BASE_URL` ends in `/o`, which the server adds itself"},
		{"other-hosts", "whether `BASE_URL` is an address that containers and other hosts reach too"},
		{"reachable", "whether `BASE_URL` answers with the metadata, without a redirect or a sign-in of a proxy"},
		{"certificate", "whether the certificate is accepted, and valid for two more weeks"},
		{"clock", "whether the clock of `BASE_URL` agrees with that of this machine within 30 seconds"},
		{"metadata", "whether the metadata is a JSON object, and says so"},
		{"issuer", "whether the issuer is the one of this configuration"},
		{"endpoints", "whether all endpoints are below `BASE_URL`"},
		{"jwks", "whether the public keys can be read, and no private one"},
		{
			"same-server",
			"whether the server that answers at `BASE_URL` is the one with this database: one of its keys is there",
		},
		{"cors", "whether applications in a browser can read the metadata"},
		{"well-known", "whether the metadata is also where RFC 8414 §3.1 puts it, at the root of the host"},
		{"errors", "whether a POST and an error of the server come through the proxy, with `Cache-Control: no-store`"},
		{"authorization", "whether the headers `Authorization` and `WWW-Authenticate` come through the proxy"},
		{
			"forwarded",
			"whether the server learns the addresses of people from `X-Forwarded-For` of the proxy, and nobody chooses theirs",
		},
		{"libraries", "whether go-oidc, openid-client, Spring Security and Authlib accept the metadata and the keys"},
		{"database", "whether the database stores what is written"},
		{"database-clock", "whether the clock of the database agrees with that of this machine"},
		{"mail", "whether the mail server accepts a connection and the password. No message is sent"},
		{"keys", "whether a key signs now, and one of RSA"},
		{"addresses", "how many people have no confirmed email address: some applications refuse them"},
		{"redirect-uris", "whether each application has a redirect URI, and a safe one"},
		{"refused-requests", "what each application has asked for in the last seven days and did not get"},
	}
}

// Look makes all checks from outside. If the metadata cannot be read, the others would only say so again.
func (s Site) Look(ctx context.Context) []Finding {
	found := []Finding{}
	path := "/o/.well-known/oauth-authorization-server"
	if s.OpenID {
		path = "/o/.well-known/openid-configuration"
	}
	first := s.ask(ctx, http.MethodGet, path, "Origin", "https://application.invalid")
	reached := s.reachable(first, path)
	found = append(found, reached, s.certificate(first))
	if reached.Weight == Wrong {
		return found
	}
	found = append(found, s.clock(first))
	document, wrong := read(first)
	found = append(found, wrong)
	if document == nil {
		return found
	}
	keys, published := s.keys(ctx, document)
	found = append(found, s.issuer(document), s.endpoints(document), published)
	if len(keys) > 0 && len(s.KeyIDs) > 0 {
		found = append(found, s.same(keys))
	}
	found = append(found, crossOrigin(first))
	found = append(found, s.otherPlaces(ctx, path), s.errors(ctx))
	if s.Question != nil {
		found = append(found, s.forwarded(ctx))
	}
	if s.OpenID {
		found = append(found, s.authorization(ctx))
		found = append(found,
			readByLibraries(seen{issuer: s.BaseURL + "/o", document: document, keys: keys, header: first.Header})...)
	}
	return found
}
