package outbound

import (
	"io"
	"net/http"
)

// ForLibrary returns an HTTP client for a library that sends its own requests. The rules are those
// of Get: the same addresses, the same time, no redirect, and at most most bytes of each response.
func (c *Client) ForLibrary(most int) *http.Client {
	return &http.Client{Timeout: c.http.Timeout, CheckRedirect: c.http.CheckRedirect, Transport: library{c, most}}
}

// library is the transport of such a client.
type library struct {
	client *Client
	most   int
}

// RoundTrip sends a request.
func (l library) RoundTrip(request *http.Request) (*http.Response, error) {
	err := l.client.checkName(request.Context(), request.URL)
	if err != nil {
		return nil, err
	}
	// A transport does not change the request that it gets (net/http.RoundTripper).
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", userAgent)
	response, err := l.client.http.Transport.RoundTrip(request)
	if err == nil {
		response.Body = &limited{response.Body, l.most, l.most}
	}
	return response, err
}

// limited is a body that fails if it is too large. A library could not distinguish a body that is
// cut off from a complete one.
type limited struct {
	io.ReadCloser
	most, left int
}

// Read reads the body.
func (b *limited) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.left -= n
	if b.left < 0 {
		return 0, &SizeError{b.most}
	}
	return n, err
}
