// Package outbound is the HTTP client for addresses that somebody registered. It
// connects to the internet only, and to networks that the operator allows (RFC 6890).
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"mandate/provider/authority"
	"mandate/provider/nat64"
)

// patience is how long a call may take, from the resolution of the name to the last
// byte of the response.
const patience = 5 * time.Second

const userAgent = "Mandate"

// notPublic lists the networks in IANA's registries of special-purpose addresses (RFC
// 6890 §2.2.2 and later entries), and the address at which Azure's hosts answer their
// guests. Of IPv6 only 2000::/3 is assigned to the internet (RFC 4291 §2.4).
var notPublic = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32",
	"169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

var globalIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// Client calls addresses that somebody registered.
type Client struct {
	config Config
	http   *http.Client
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what an operator decides about outbound calls.
type Config struct {
	// Networks lists special-use networks (CIDR) that the server may call. By default it calls public addresses only
	// (RFC 6890).
	//
	// In such a network, for instance `10.0.0.0/8`, the server may call registered back-channel logout URIs and fetch
	// the keys of `SOFTWARE_STATEMENT_ISSUERS`, and the `SIGN_IN_SERVERS` may be there. It calls the addresses of
	// applications for which nobody is responsible (see `OPEN_CLIENTS`), and fetches their metadata documents, there
	// too if `OPEN_HOSTS` lists their hosts, and at a loopback address only while `BASE_URL` has one.
	Networks []netip.Prefix `key:"OUTBOUND_ALLOWED_NETWORKS" default:"[]" subject:"Outbound requests"`
	// NoLoopback refuses loopback addresses even if Networks has them.
	NoLoopback bool
	// Peer may be called wherever it is, and has a certificate of its own; nil: there is no
	// such server.
	Peer *Peer
	// Trace may wrap the transport; nil: nothing does.
	Trace func(http.RoundTripper) http.RoundTripper
}

// Peer is one server of the same operator: its address with the port, and its certificate.
type Peer struct {
	Address     netip.AddrPort
	Certificate *x509.Certificate
}

// New makes a client that may call the internet and the given special-use networks.
// It checks the address when it connects, after the name was resolved: a name may
// resolve to another address from one moment to the next. It follows no redirect, keeps
// no cookie and uses no proxy, which would resolve the name itself.
func New(config Config) *Client {
	c := &Client{config: config, lookup: net.DefaultResolver.LookupNetIP}
	dialer := &net.Dialer{Timeout: patience, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !c.allowsAt(at) {
			return specialUse(at.Addr())
		}
		return nil
	}}
	transport := http.RoundTripper(&http.Transport{DialContext: dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.roots()},
		TLSHandshakeTimeout: patience, MaxIdleConns: 100, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10,
		ForceAttemptHTTP2: true})
	if config.Trace != nil {
		transport = config.Trace(transport)
	}
	c.http = &http.Client{Timeout: patience, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

func specialUse(a netip.Addr) error {
	return fmt.Errorf("%s is a special-use address, to which this call may not go (OUTBOUND_ALLOWED_NETWORKS)", a)
}

// Allows reports whether the client may connect to an address.
func (c *Client) Allows(a netip.Addr) bool {
	a = nat64.Target(a.Unmap().WithZone("")) // the address behind a translator is the one that counts
	if c.config.NoLoopback && (a.IsLoopback() || a.IsUnspecified()) {
		return false
	}
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(c.config.Networks, within) {
		return true
	}
	return !slices.ContainsFunc(notPublic, within) && (a.Is4() || globalIPv6.Contains(a))
}

// allowsAt does the same for one port of the address.
func (c *Client) allowsAt(a netip.AddrPort) bool {
	return c.config.Peer != nil && a == c.config.Peer.Address || c.Allows(a.Addr())
}

// roots returns the certificates that are trusted; nil: those of the system.
func (c Config) roots() *x509.CertPool {
	if c.Peer == nil {
		return nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AddCert(c.Peer.Certificate)
	return roots
}

// Post sends a form and requires a 2xx response, whose body it ignores.
func (c *Client) Post(ctx context.Context, target string, form url.Values) error {
	request, err := newRequest(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := c.do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &StatusError{response.StatusCode}
	}
	return nil
}

func (c *Client) do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", userAgent)
	response, err := c.http.Do(request)
	// The URL that url.Error would show may have a secret in its query.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return response, err
}

// StatusError is a response with another status than the required one.
type StatusError struct{ Status int }

// Error returns the status as text.
func (a *StatusError) Error() string { return fmt.Sprintf("the response has status %d", a.Status) }

// newRequest makes a request to an address of somebody else. The caller, the operator's list of hosts and the log must
// mean the very host that is called.
func newRequest(ctx context.Context, method, target string, body io.Reader) (*http.Request, error) {
	if wrong := authority.Check(target); wrong != "" {
		return nil, errors.New("the address " + wrong)
	}
	return http.NewRequestWithContext(ctx, method, target, body)
}
