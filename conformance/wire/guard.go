package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guard decides to which hosts requests are sent. The checks send many wrong requests, and a server can name any
// address as its own: that of a stranger, or of a service that only this machine reaches.
type guard struct {
	owned  bool // hosts other than this machine and private networks are allowed
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	limit  time.Duration

	mu    sync.Mutex
	home  string   // the host of the issuer, or "" if the network serves no target
	named []string // the hosts that the target names
	found map[string]place
}

// place is where a host is, and the address that shows it.
type place struct {
	reach   Reach
	address netip.Addr
}

// RefusedError says why a request was not sent.
type RefusedError struct{ reason string }

// IsRefused reports whether an error says that a request was not sent.
func IsRefused(err error) bool { return refusal(err) != nil }

// Error returns the reason in one line.
func (e *RefusedError) Error() string { return e.reason }

// Refusedf returns a RefusedError.
func Refusedf(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// refusal returns the RefusedError in an error of the transport, or nil.
func refusal(err error) error {
	if refused, is := errors.AsType[*RefusedError](err); is {
		return refused
	}
	return nil
}

// Serve limits the requests to the hosts of a target: those that its addresses name, and those that can be reached from
// the same places as its issuer.
func (g *guard) Serve(issuer string, addresses ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.home, g.named = hostOf(issuer), nil
	for _, address := range append(addresses, issuer) {
		g.named = append(g.named, hostOf(address))
	}
}

func hostOf(address string) string { return strings.ToLower(ParseURL(address).Hostname()) }

// names reports whether the target names a host, and returns the host of the issuer.
func (g *guard) names(host string) (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.home == "" || slices.Contains(g.named, strings.ToLower(host)), g.home
}

// allowed returns an error if no request may be sent to a host.
func (g *guard) allowed(ctx context.Context, host string) error {
	if named, _ := g.names(host); named && g.owned {
		return nil
	}
	p, err := g.locate(ctx, host)
	if err != nil {
		return err
	}
	return g.permits(ctx, host, p.address)
}

// permits returns an error if the target does not allow that a host has an address.
func (g *guard) permits(ctx context.Context, host string, a netip.Addr) error {
	reach := reachOf(a)
	if reach == Anywhere && !g.owned {
		return Refusedf("%s is at %s, which is neither this machine nor in a private network: add --i-own-this-server if "+
			"you may test it", host, a)
	}
	named, home := g.names(host)
	if named {
		return nil
	}
	// RFC 3927 §2.8, RFC 4291 §2.5.6: such an address has a meaning only on one link. In a cloud, services for the machine
	// itself have one.
	if a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() {
		return Refusedf("%s is at %s, a link-local address, and the target does not name this host: add it to the target "+
			"under origins if the server is there", host, a)
	}
	if from := g.Reach(ctx, home); reach != from {
		return Refusedf("%s is at %s, which is %s, and the issuer is %s: add the host to the target under origins if the "+
			"server is there", host, a, reach, from)
	}
	return nil
}

// dial connects to an address that the guard permits. It checks the address that is really used, because a name can
// have another address at the next lookup.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: g.limit}
	if through, _ := ctx.Value(throughProxy{}).(bool); !through {
		d.Control = func(_, at string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(at)
			if err != nil {
				return err
			}
			if named, _ := g.names(host); named && g.owned {
				return nil
			}
			return g.permits(ctx, host, to.Addr().Unmap().WithZone(""))
		}
	}
	return d.DialContext(ctx, network, address)
}

// throughProxy marks the context of a request that a proxy forwards.
type throughProxy struct{}

// proxy returns the proxy of the environment for a request. A host that the target does not name is always dialled
// directly, because nobody sees which address a proxy uses.
func (g *guard) proxy(r *http.Request) (*url.URL, error) {
	if named, _ := g.names(r.URL.Hostname()); !named {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// proxied marks a context if a proxy forwards the request.
func (g *guard) proxied(ctx context.Context, r *http.Request) context.Context {
	if by, err := g.proxy(r); err == nil && by != nil {
		return context.WithValue(ctx, throughProxy{}, true)
	}
	return ctx
}

// Reach says from where a host can be reached.
type Reach int

const (
	Anywhere Reach = iota
	PrivateNetwork
	ThisMachine
)

// String completes a sentence about a host: it is ...
func (r Reach) String() string {
	return [...]string{"in a public network", "in a private network", "on this machine"}[r]
}

// Reach returns from where a host can be reached. A host whose address cannot be found can be anywhere.
func (g *guard) Reach(ctx context.Context, host string) Reach {
	p, err := g.locate(ctx, host)
	if err != nil {
		return Anywhere
	}
	return p.reach
}

// locate returns the place of a host. Of several addresses the farthest counts.
func (g *guard) locate(ctx context.Context, host string) (place, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, known := g.found[host]; known {
		return p, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.limit)
	defer cancel()
	addresses, err := g.lookup(ctx, "ip", host)
	if err != nil {
		return place{}, fmt.Errorf("%s: its address cannot be found: %w", host, err)
	}
	farthest := place{reach: ThisMachine}
	for _, a := range addresses {
		if reach := reachOf(a.Unmap()); reach <= farthest.reach {
			farthest = place{reach, a.Unmap()}
		}
	}
	g.found[host] = farthest
	return farthest, nil
}

func reachOf(a netip.Addr) Reach {
	switch {
	case a.IsLoopback():
		return ThisMachine
	case a.IsPrivate() || a.IsLinkLocalUnicast():
		return PrivateNetwork
	}
	return Anywhere
}
