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
	others  sync.Map // a client for each certificate, by its name
	timeout time.Duration
	slots   chan struct{}
	sent    atomic.Int64
	silent  atomic.Int64 // requests without an answer since the last answer

	guard
}

// NewNetwork returns a Network that has sent nothing yet.
func NewNetwork(o Options) *Network {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = InFlight
	}
	n := &Network{
		guard:   guard{owned: o.Owned, lookup: net.DefaultResolver.LookupNetIP, limit: o.Timeout, found: map[string]place{}},
		timeout: o.Timeout, slots: make(chan struct{}, o.Workers),
	}
	transport := &http.Transport{
		Proxy:                  n.proxy,
		DialContext:            n.dial,
		MaxIdleConnsPerHost:    o.Workers,
		MaxResponseHeaderBytes: MaxHeader,
		TLSClientConfig:        &tls.Config{RootCAs: o.CA},
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
	n.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return n
}

// Identify lets requests use a certificate, by a name: see CertificateOf.
func (n *Network) Identify(name string, certificate *tls.Certificate) {
	transport := n.client.Transport.(*http.Transport).Clone()
	// The certificate is sent also to a server that asks for those of other authorities: what it answers is checked.
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return certificate, nil
	}
	n.others.Store(name, &http.Client{Transport: transport, CheckRedirect: n.client.CheckRedirect})
}

// sender returns the client that sends a request, and removes the name of its certificate.
func (n *Network) sender(r *http.Request) *http.Client {
	name := r.Header.Get(CertificateOf)
	r.Header.Del(CertificateOf)
	if of, known := n.others.Load(name); known {
		return of.(*http.Client)
	}
	return n.client
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
	err := n.allowed(ctx, r.URL.Hostname())
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
	case refusal(err) != nil:
		err = refusal(err)
	case endedTLS(err):
		n.silent.Store(0) // this is an answer too
		err = &TLSError{reasonOf(err, n.timeout)}
	case ctx.Err() == nil:
		if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); !untrusted { // the server has answered
			n.silent.Add(1)
		}
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
	sent := r.WithContext(n.proxied(ctx, r))
	sent.Header = r.Header.Clone()
	response, err := n.sender(sent).Do(sent)
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

// NoAnswerError says why there was no answer.
type NoAnswerError struct{ reason string }

// Error returns the reason in one line.
func (e *NoAnswerError) Error() string { return e.reason }

// TLSError says that the server ended the TLS connection, for example because of the certificate of the client.
type TLSError struct{ reason string }

// Error returns the reason in one line.
func (e *TLSError) Error() string { return e.reason }

// endedTLS reports whether the server has sent a TLS alert.
func endedTLS(err error) bool {
	of, is := errors.AsType[*net.OpError](err)
	return is && of.Op == "remote error"
}

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
		return fmt.Sprintf("%sits certificate is not signed by an authority that this machine trusts%s: pass the "+
			"certificate of the authority with --ca FILE", where, issuer)
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return fmt.Sprintf("%sthe server does not speak TLS there: write the address with http", where)
	}
	return fmt.Sprintf("%s%s", where, Printable(strings.Join(strings.Fields(err.Error()), " ")))
}
