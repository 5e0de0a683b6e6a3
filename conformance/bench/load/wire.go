package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// The generator uses its own HTTP/1.1 (RFC 9112): each request is formatted once, written by one write, and answered
// by one read in most cases, without new memory. On a machine that it shares with the server, net/http would use more
// processor time than the server that is measured.

// Endpoint is the address of requests of one kind.
type Endpoint struct {
	address string // host and port
	host    string // of the Host header
	Target  string // path and query
	tls     bool
}

// ParseEndpoint parses the address of an endpoint.
func ParseEndpoint(text string) (Endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Endpoint{}, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Endpoint{}, fmt.Errorf("%q is not an http or https URL", text)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return Endpoint{net.JoinHostPort(u.Hostname(), port), u.Host, u.RequestURI(), u.Scheme == "https"}, nil
}

// Get formats a GET request. header consists of whole lines, each with its line end.
func (e Endpoint) Get(query, header string) []byte {
	return []byte("GET " + e.Target + query + " HTTP/1.1\r\nHost: " + e.host + "\r\n" + header + "\r\n")
}

// Form formats the beginning of all forms that are sent to the endpoint, up to the content length.
func (e Endpoint) Form(header string) Form {
	return e.Post("application/x-www-form-urlencoded", header)
}

// Post does the same for a body of another type.
func (e Endpoint) Post(contentType, header string) Form {
	return Form("POST " + e.Target + " HTTP/1.1\r\nHost: " + e.host + "\r\n" + header + "Content-Type: " + contentType +
		"\r\nContent-Length: ")
}

// Form is the beginning of a POST request, without the number of Content-Length.
type Form []byte

// With completes the request in the memory of old.
func (f Form) With(old []byte, body ...[]byte) []byte {
	length := 0
	for _, part := range body {
		length += len(part)
	}
	request := append(old[:0], f...)
	request = strconv.AppendInt(request, int64(length), 10)
	request = append(request, "\r\n\r\n"...)
	for _, part := range body {
		request = append(request, part...)
	}
	return request
}

// Response is an answer. Its memory is used again for the next answer.
type Response struct {
	Status     int
	head, Body []byte
}

// Header returns the value of a field, or nothing.
func (r Response) Header(name string) []byte {
	for line := range bytes.Lines(r.head) {
		field, value, found := bytes.Cut(line, []byte(":"))
		if found && len(field) == len(name) && bytes.EqualFold(field, []byte(name)) {
			return bytes.TrimSpace(value)
		}
	}
	return nil
}

// conn is a connection that stays open.
type conn struct {
	net.Conn
	to      Endpoint
	buf     []byte
	closing bool // the server closes the connection after this answer
}

func (e Endpoint) dial(ctx context.Context, from net.Addr) (*conn, error) {
	dialer := &net.Dialer{LocalAddr: from}
	made := &conn{to: e, buf: make([]byte, 8<<10)}
	var err error
	if e.tls {
		made.Conn, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", e.address)
	} else {
		made.Conn, err = dialer.DialContext(ctx, "tcp", e.address)
	}
	return made, err
}

var (
	headEnd    = []byte("\r\n\r\n")
	errStrange = errors.New("the response is not HTTP/1.1")
)

// ask sends a request and reads its answer.
func (c *conn) ask(request []byte) (Response, error) {
	_, err := c.Write(request)
	if err != nil {
		return Response{}, err
	}
	n, head := 0, -1
	for head < 0 {
		from := max(0, n-len(headEnd)+1)
		n, err = c.more(n)
		if err != nil {
			return Response{}, err
		}
		if i := bytes.Index(c.buf[from:n], headEnd); i >= 0 {
			head = from + i + len(headEnd)
		}
	}
	r := Response{head: c.buf[:head]}
	if head < 13 || !bytes.HasPrefix(r.head, []byte("HTTP/1.1 ")) {
		return r, errStrange
	}
	r.Status, err = strconv.Atoi(string(r.head[9:12]))
	if err != nil {
		return r, errStrange
	}
	c.closing = bytes.EqualFold(r.Header("Connection"), []byte("close"))
	if r.Status == 204 || r.Status == 304 {
		return r, nil
	}
	if length := r.Header("Content-Length"); length != nil {
		size, err := strconv.Atoi(string(length))
		if err != nil || size < 0 {
			return r, errStrange
		}
		for n < head+size {
			n, err = c.more(n)
			if err != nil {
				return r, err
			}
		}
		r.head, r.Body = c.buf[:head], c.buf[head:head+size] // the memory may have moved
		return r, nil
	}
	if !bytes.EqualFold(r.Header("Transfer-Encoding"), []byte("chunked")) {
		return r, errStrange
	}
	return c.chunks(r, head, n)
}

// chunks reads a chunked body (RFC 9112 §7.1), and joins its parts.
func (c *conn) chunks(r Response, head, n int) (Response, error) {
	at, end := head, head // the next byte to read, and the end of the joined body
	for {
		line := bytes.Index(c.buf[at:n], headEnd[:2])
		for line < 0 {
			var err error
			n, err = c.more(n)
			if err != nil {
				return r, err
			}
			line = bytes.Index(c.buf[at:n], headEnd[:2])
		}
		digits, _, _ := bytes.Cut(c.buf[at:at+line], []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
		if err != nil {
			return r, errStrange
		}
		at += line + 2
		for n < at+int(size)+2 {
			n, err = c.more(n)
			if err != nil {
				return r, err
			}
		}
		if size == 0 { // trailers are not supported, and no server here sends them
			r.head, r.Body = c.buf[:head], c.buf[head:end]
			return r, nil
		}
		end += copy(c.buf[end:], c.buf[at:at+int(size)])
		at += int(size) + 2
	}
}

// more reads further bytes after the first n.
func (c *conn) more(n int) (int, error) {
	if n == len(c.buf) {
		if n >= 16<<20 {
			return n, errors.New("the response is larger than 16 MB")
		}
		c.buf = append(c.buf, make([]byte, n)...)
	}
	read, err := c.Read(c.buf[n:])
	if read > 0 {
		err = nil
	}
	return n + read, err
}
