package wire

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
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxAnswer   = 1 << 20 // how much of an answer is read at most
	MaxHeader   = 64 << 10
	maxRequests = 20_000 // of one run
	InFlight    = 4      // requests at the same time, unless the options say otherwise
	deafAfter   = 5      // requests in a row without an answer
	FormEncoded = "application/x-www-form-urlencoded"
)

// Options say how the server is reached.
type Options struct {
	Owned   bool           // allows hosts other than this machine and private networks
	CA      *x509.CertPool // nil: what the system trusts
	Timeout time.Duration  // of one request, its answer read; 15 seconds if zero
	Workers int            // requests at the same time; InFlight if zero
}

// Network sends the requests of a run, and limits their number, their size and their duration.
type Network struct {
	client  *http.Client
	owned   bool
	timeout time.Duration
	slots   chan struct{}
	sent    atomic.Int64
	silent  atomic.Int64 // requests without an answer since the last answer

	mu    sync.Mutex
	hosts map[string]place
}

// place is where a host is, and the address that shows it.
type place struct {
	reach   Reach
	address netip.Addr
}

// NewNetwork returns a Network that has sent nothing yet.
func NewNetwork(o Options) *Network {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = InFlight
	}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		MaxIdleConnsPerHost:    o.Workers,
		MaxResponseHeaderBytes: MaxHeader,
		TLSClientConfig:        &tls.Config{RootCAs: o.CA},
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
	return &Network{
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		owned: o.Owned, timeout: o.Timeout, slots: make(chan struct{}, o.Workers), hosts: map[string]place{},
	}
}

var (
	errDeaf    = errors.New("the server has stopped answering")
	errTooMany = errors.New("this run has sent all the requests that one run may send")
)

// Reset clears the counters of sent and of unanswered requests, so that requests are possible again after a server
// did not answer.
func (n *Network) Reset() {
	n.sent.Store(0)
	n.silent.Store(0)
}

// Do sends a request and reads the answer. It follows no redirect.
func (n *Network) Do(ctx context.Context, r *http.Request) (*Answer, error) {
	err := n.allowed(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	if n.silent.Load() >= deafAfter {
		return nil, errDeaf
	}
	if n.sent.Add(1) > maxRequests {
		return nil, errTooMany
	}
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a, err := n.exchange(ctx, r)
	switch {
	case err == nil:
		n.silent.Store(0)
	case ctx.Err() == nil:
		n.silent.Add(1)
		err = plainError(err, n.timeout)
	}
	return a, err
}

func (n *Network) exchange(ctx context.Context, r *http.Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "mandate-conformance")
	}
	a := &Answer{Method: r.Method, URL: r.URL, SentHeader: r.Header.Clone(), contentType: r.Header.Get("Content-Type")}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		sent, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		a.SentForm = string(sent)
	}
	response, err := n.client.Do(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a.Status, a.Header = response.StatusCode, response.Header
	a.Body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(a.Body) > maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer is larger than a mebibyte", r.Method, Bare(r.URL))
	}
	return a, nil
}

// Bare returns an address without its query, which may hold secrets.
func Bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// NoAnswerError says why there was no answer.
type NoAnswerError struct{ reason string }

// Error returns the reason in one line.
func (e *NoAnswerError) Error() string { return e.reason }

func plainError(err error, timeout time.Duration) error {
	return &NoAnswerError{reasonOf(err, timeout)}
}

// reasonOf says in one line why there was no answer.
func reasonOf(err error, timeout time.Duration) string {
	where := ""
	if of, ok := errors.AsType[*url.Error](err); ok {
		u, parseErr := url.Parse(of.URL)
		if parseErr == nil {
			where = Bare(u) + ": "
		}
		err = of.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("%sno answer within %s", where, timeout)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		issuer := ""
		if unknown.Cert != nil {
			issuer = " (" + unknown.Cert.Issuer.String() + ")"
		}
		return fmt.Sprintf("%sits certificate is not signed by an authority that this machine trusts%s: pass the certificate of the authority with --ca FILE", where, issuer)
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return fmt.Sprintf("%sthe server does not speak TLS there: write the address with http", where)
	}
	return fmt.Sprintf("%s%s", where, Printable(strings.Join(strings.Fields(err.Error()), " ")))
}

// allowed protects the servers of other people: the checks send many wrong requests.
func (n *Network) allowed(ctx context.Context, u *url.URL) error {
	if n.owned {
		return nil
	}
	p, err := n.locate(ctx, u.Hostname())
	if err == nil && p.reach == Anywhere {
		err = fmt.Errorf("%s is at %s, which is neither this machine nor in a private network: add --i-own-this-server if you may test it", u.Hostname(), p.address)
	}
	return err
}

// Reach says from where a host can be reached.
type Reach int

const (
	Anywhere Reach = iota
	PrivateNetwork
	ThisMachine
)

// Reach returns from where a host can be reached. A host whose address cannot be found can be anywhere.
func (n *Network) Reach(ctx context.Context, host string) Reach {
	p, err := n.locate(ctx, host)
	if err != nil {
		return Anywhere
	}
	return p.reach
}

// locate returns the place of a host. Of several addresses the farthest counts.
func (n *Network) locate(ctx context.Context, host string) (place, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, known := n.hosts[host]; known {
		return p, nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return place{}, fmt.Errorf("%s: its address cannot be found: %w", host, err)
	}
	farthest := place{reach: ThisMachine}
	for _, a := range addresses {
		if reach := reachOf(a.Unmap()); reach <= farthest.reach {
			farthest = place{reach, a.Unmap()}
		}
	}
	n.hosts[host] = farthest
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
