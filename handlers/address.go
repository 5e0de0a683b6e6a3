package handlers

import (
	"mandate/provider/oauth"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address is the client's: whom the nearest hop that we do not trust speaks
// for is that hop's word alone (RFC 9700 §4.13).
func (s *server) address(r *http.Request) string {
	at := peer(r)
	if !at.IsValid() {
		return oauth.Clip(r.RemoteAddr, 64)
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !s.trusted(at) {
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

// peer is the other end of the connection.
func peer(r *http.Request) netip.Addr {
	at, _ := parseHop(r.RemoteAddr)
	return at
}

func (s *server) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(s.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// parseHop reads an address, to which some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	}
	at, err := netip.ParseAddr(host)
	return at.Unmap().WithZone(""), err == nil
}
