package request

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"mandate/provider/oauth"
)

// Address returns the address of the client. It follows X-Forwarded-For only from
// proxies that are trusted: the first hop that is not trusted could name any address
// (RFC 9700 §4.13).
func (o *Observer) Address(r *http.Request) string {
	at := peer(r)
	if !at.IsValid() {
		return oauth.Clip(r.RemoteAddr, 64)
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !o.trusts(at) {
			break
		}
		next, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		at = next
	}
	return at.String()
}

// Arrival is how a request has reached this server.
type Arrival struct {
	Peer      string // the address at the other end of the connection
	Trusted   bool   // TRUSTED_PROXIES has it
	Forwarded string // the last address of X-Forwarded-For; empty: there is none
	Chosen    bool   // Address returns the claimed address although nobody has it: TRUSTED_PROXIES has it, too
	TLS       bool
}

// Arrival says how a request has reached this server that claims in X-Forwarded-For to come from an address that
// nobody has.
func (o *Observer) Arrival(r *http.Request, claimed string) Arrival {
	at := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	nobodys, _ := parseHop(claimed)
	return Arrival{
		at.String(),
		o.trusts(at),
		strings.TrimSpace(hops[len(hops)-1]),
		o.trusts(nobodys) && o.Address(r) == claimed,
		r.TLS != nil,
	}
}

// FromProxy reports whether a request comes from a trusted proxy. For a stranger it writes a line to the log, in which
// the operator of a reverse proxy finds the remedy.
func (o *Observer) FromProxy(r *http.Request) bool {
	at := peer(r)
	trusted := o.trusts(at)
	if !trusted && at.IsValid() {
		o.strangers.warn(at, o.config.Log, "a request about a site is refused, because TRUSTED_PROXIES does not list its "+
			"sender: if it is your reverse proxy, add its address there")
	}
	return trusted
}

// peer returns the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	at, _ := parseHop(r.RemoteAddr)
	return at
}

func (o *Observer) trusts(at netip.Addr) bool {
	return slices.ContainsFunc(o.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// parseHop reads an address. Some proxies add a port to it.
func parseHop(text string) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	}
	at, err := netip.ParseAddr(host)
	return at.Unmap().WithZone(""), err == nil
}
