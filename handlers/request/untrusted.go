package request

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
)

// mostUntrusted limits the warnings of one process: a stranger can send the header, too.
const mostUntrusted = 20

// untrusted remembers the peers that sent X-Forwarded-For and that TRUSTED_PROXIES does not list. The first
// warning is for the operator of a reverse proxy: without the setting, all people behind it share one address.
type untrusted struct {
	mu    sync.Mutex
	peers map[netip.Addr]bool
}

// warn writes one line for each peer. Nothing but an address of the network is in it.
func (u *untrusted) warn(at netip.Addr, log *slog.Logger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.peers[at] || len(u.peers) >= mostUntrusted {
		return
	}
	if u.peers == nil {
		u.peers = map[netip.Addr]bool{}
	}
	u.peers[at] = true
	log.Warn("X-Forwarded-For is ignored, because TRUSTED_PROXIES does not list its sender: if it is your reverse proxy, add its address there; "+
		"until then, everybody behind it counts as one client", "peer", at.String())
}

// lookAtProxy warns of a proxy that is not trusted. Without the header it costs nothing.
func (o *Observer) lookAtProxy(r *http.Request) {
	if len(r.Header["X-Forwarded-For"]) == 0 {
		return
	}
	at := peer(r)
	if at.IsValid() && !o.trusts(at) {
		o.untrusted.warn(at, o.config.Log)
	}
}
