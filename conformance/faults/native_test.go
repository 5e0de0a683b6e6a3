package faults

import (
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// nativeFaults are faults of a server for native applications (RFC 8252).
func nativeFaults() []fault {
	loopback := func(p *proxy, v url.Values) bool { return v.Get("client_id") == p.target.Clients[need.Loopback].ID }
	return []fault{
		{name: "a loopback redirect URI has a fixed port", at: authorizePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return loopback(p, q.params()) && wire.ParseURL(q.params().Get("redirect_uri")).Port() != ""
		}, badPage), fails: "RFC8252/7.3/any-port RFC9700/4.1.3/a2-loopback-port"},
		{name: "a loopback redirect URI has any path", spoil: misdirected(func(sent, registered string) bool {
			return wire.ParseURL(sent).Hostname() == "127.0.0.1" && wire.ParseURL(registered).Hostname() == "127.0.0.1"
		}), fails: "RFC8252/8.4/loopback-exact-but-for-port"},
		{name: "a redirect URI of a private-use scheme is refused", at: authorizePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				return strings.HasPrefix(q.params().Get("redirect_uri"), "com.example.")
			}, badPage), fails: "RFC8252/7/private-use-scheme"},
		{name: "a redirect URI with https is refused for a public client", at: authorizePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				return q.params().Get("client_id") == p.target.Clients[need.Public].ID &&
					strings.HasPrefix(q.params().Get("redirect_uri"), "https:")
			}, badPage), aim: func(*target.Target) {}, fails: "RFC8252/7/claimed-https"},
		{name: "a redirect URI of a private-use scheme has any path", spoil: misdirected(func(sent, registered string) bool {
			return wire.ParseURL(registered).Host == "" && wire.ParseURL(sent).Scheme == wire.ParseURL(registered).Scheme
		}), fails: "RFC8252/8.4/private-use-exact"},
		{name: "native applications need no PKCE", at: authorizePath, spoil: challenges(func(p *proxy, q *ask, v url.Values) {
			if loopback(p, v) && !v.Has("code_challenge") {
				unproven(q)
			}
		}), fails: "RFC8252/8.1/without-pkce-rejected"},
		{name: "native applications need a secret", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, secret := q.client()
			return id == p.target.Clients[need.Loopback].ID && secret == ""
		}, unknownClient), after: "RFC6749", fails: "RFC8252/8.5/no-shared-secret RFC10017/6.3.3.1/no-shared-secret",
			blocks: "RFC8252/6/pkce-supported"},
	}
}
