package httpserve

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// maxHandshake is how much of a connection is read before the certificates of its client are checked. Eight
// certificates with large keys take about 24 KB. crypto/tls itself parses 256 KB of them.
const maxHandshake = 64 << 10

// bounded is a listener whose connections send only so much in a handshake.
type bounded struct{ net.Listener }

// Accept waits for a connection.
func (b bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	h := &handshaking{Conn: c}
	h.left.Store(maxHandshake)
	return h, nil
}

// handshaking is a connection that can send a number of bytes before its handshake is checked.
type handshaking struct {
	net.Conn
	left    atomic.Int64
	checked atomic.Bool
}

// Read reads no more than what is left.
func (h *handshaking) Read(p []byte) (int, error) {
	if h.checked.Load() {
		return h.Conn.Read(p)
	}
	left := h.left.Load()
	if left <= 0 {
		return 0, errors.New("the client certificates of a handshake take more than 64 KB")
	}
	n, err := h.Conn.Read(p[:min(int64(len(p)), left)])
	h.left.Add(-int64(n))
	return n, err
}

// checking returns a configuration whose handshakes end the limit of their connection after they were checked. The
// tickets of all of them have the keys of this one.
func checking(config *tls.Config, check func(tls.ConnectionState) error) *tls.Config {
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own := config.Clone()
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if h, ok := hello.Conn.(*handshaking); ok {
				h.checked.Store(true)
			}
			return check(state)
		}
		return own, nil
	}
	return config
}
