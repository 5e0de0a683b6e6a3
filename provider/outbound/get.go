package outbound

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Document is what Get has read.
type Document struct {
	Header http.Header
	Body   []byte
}

// Get reads a document of at most most bytes. It requires the status 200: a redirect is an
// error, as each other status is.
//
// A name may have several addresses, and a connection goes to one of them. Get refuses a
// name if one of its addresses may not be called. Whoever owns the name chose them.
func (c *Client) Get(ctx context.Context, target, accept string, most int) (Document, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := newRequest(ctx, http.MethodGet, target, nil)
	if err != nil {
		return Document{}, err
	}
	err = c.checkName(ctx, request.URL)
	if err != nil {
		return Document{}, err
	}
	request.Header.Set("Accept", accept)
	response, err := c.do(request)
	if err != nil {
		return Document{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Document{}, &StatusError{response.StatusCode}
	}
	// The transport may have decompressed the body: its size counts, and not Content-Length.
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
	if err == nil && len(body) > most {
		err = &SizeError{most}
	}
	return Document{response.Header, body}, err
}

// checkName returns an error if one of the addresses of a URL's host may not be called.
func (c *Client) checkName(ctx context.Context, u *url.URL) error {
	addresses, err := c.lookup(ctx, "ip", u.Hostname())
	if err != nil {
		return err
	}
	port := portOf(u)
	for _, a := range addresses {
		if !c.allowsAt(netip.AddrPortFrom(a.Unmap(), port)) {
			return specialUse(a)
		}
	}
	return nil
}

// portOf returns the port of an http or https URL. One that is no number is 0, which nothing
// listens on.
func portOf(u *url.URL) uint16 {
	text := u.Port()
	switch {
	case text == "" && u.Scheme == "https":
		return 443
	case text == "":
		return 80
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// IsJSON reports whether the media type is application/json, or an application type that
// ends in +json (RFC 6839 §3.1).
func (d Document) IsJSON() bool {
	media, _, err := mime.ParseMediaType(d.Header.Get("Content-Type"))
	return err == nil &&
		(media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// SizeError is a response whose body is larger than the caller reads.
type SizeError struct{ Most int }

// Error returns the limit as text.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the response is larger than %d bytes", e.Most)
}
