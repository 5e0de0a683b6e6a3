package request

import (
	"log/slog"
	"net/netip"
	"sync"
)

// mostUntrusted limits the warnings of one process, of each of two kinds: a stranger can send the header, too. Most
// reverse proxies have a private address, which strangers have not.
const mostUntrusted = 10

// untrusted remembers the peers that sent what only a proxy may send, and that TRUSTED_PROXIES does not list. The first
// warning is for the operator of a reverse proxy: without the setting, all people behind it share one address.
type untrusted struct {
	mu    sync.Mutex
	peers map[netip.Addr]bool
	count [2]int // of public and of private addresses
}

// ignored is the warning of a proxy whose X-Forwarded-For is not used.
const ignored = "X-Forwarded-For is ignored, because TRUSTED_PROXIES does not list its sender: if it is your reverse " +
	"proxy, add its address there; until then, everybody behind it counts as one client"

// warn writes one line for each peer. Nothing but an address of the network is in it.
func (u *untrusted) warn(at netip.Addr, log *slog.Logger, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	kind := 0
	if at.IsPrivate() || at.IsLoopback() || at.IsLinkLocalUnicast() {
		kind = 1
	}
	if u.peers[at] || u.count[kind] >= mostUntrusted {
		return
	}
	if u.peers == nil {
		u.peers = map[netip.Addr]bool{}
	}
	u.peers[at] = true
	u.count[kind]++
	log.Warn(text, "peer", at.String())
}
