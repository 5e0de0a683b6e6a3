package postgrestest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Action is what a Proxy does with a connection when it sees a statement.
type Action int

// The actions of a Proxy.
const (
	// Pass forwards the statement.
	Pass    Action = iota
	Cut            // closes the connection before the server receives the statement
	Swallow        // forwards the statement, and closes the connection instead of the answer
	Hang           // keeps the connection open and forwards nothing any more
	Refuse         // answers that the server does not support the statement
)

// Proxy is a proxy between a program and PostgreSQL, without TLS. It understands the
// protocol.
type Proxy struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	rule  func(statement string) Action
	conns map[*proxyConn]bool
}

// NewProxy starts a Proxy to a database, and returns the database's address through it.
func NewProxy(t testing.TB, databaseURL string) (*Proxy, string) {
	t.Helper()
	at, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, to: at.Host, conns: map[*proxyConn]bool{}, rule: func(string) Action { return Pass }}
	at.Host = listener.Addr().String()
	go p.serve()
	t.Cleanup(func() {
		listener.Close()
		p.each((*proxyConn).close)
	})
	return p, at.String()
}

// Rule sets the function that chooses the action for each statement. It applies at once to
// the connections that have run LISTEN.
func (p *Proxy) Rule(rule func(statement string) Action) {
	p.mu.Lock()
	p.rule = rule
	p.mu.Unlock()
	p.each(func(c *proxyConn) {
		if c.listens() != "" {
			c.apply(rule(c.listens()))
		}
	})
}

// OfListening returns a rule that applies an action to the connections that run LISTEN.
func OfListening(action Action) func(string) Action {
	return func(statement string) Action {
		if strings.HasPrefix(statement, "LISTEN") {
			return action
		}
		return Pass
	}
}

// Listening returns the number of connections that have run LISTEN.
func (p *Proxy) Listening() int {
	n := 0
	p.each(func(c *proxyConn) {
		if c.listens() != "" {
			n++
		}
	})
	return n
}

func (p *Proxy) each(do func(*proxyConn)) {
	p.mu.Lock()
	conns := make([]*proxyConn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		do(c)
	}
}

func (p *Proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		c := &proxyConn{proxy: p, near: near, far: far, statements: map[string]string{}}
		p.mu.Lock()
		p.conns[c] = true
		p.mu.Unlock()
		go c.forwardRequests()
		go c.forwardResponses()
	}
}

type proxyConn struct {
	proxy      *Proxy
	near, far  net.Conn          // to the program, to the server
	statements map[string]string // prepared statements by name

	mu     sync.Mutex
	action Action
	listen string
}

func (c *proxyConn) listens() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listen
}

func (c *proxyConn) current() Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.action
}

func (c *proxyConn) apply(action Action) {
	c.mu.Lock()
	c.action = action
	c.mu.Unlock()
	if action == Cut {
		c.close()
	}
}

func (c *proxyConn) close() {
	c.near.Close()
	c.far.Close()
	c.proxy.mu.Lock()
	delete(c.proxy.conns, c)
	c.proxy.mu.Unlock()
}

// forwardResponses forwards what the server sends.
func (c *proxyConn) forwardResponses() {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.far.Read(buffer)
		if err != nil || c.current() == Swallow {
			return
		}
		if c.current() == Hang {
			continue
		}
		_, err = c.near.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}

// forwardRequests forwards what the program sends, message by message (PostgreSQL's
// documentation, Frontend/Backend Protocol, Message Formats).
func (c *proxyConn) forwardRequests() {
	defer c.close()
	_, err := c.message(nil) // the first message has no type byte
	for err == nil {
		kind := make([]byte, 1)
		_, err = io.ReadFull(c.near, kind)
		if err == nil {
			_, err = c.message(kind)
		}
	}
}

func (c *proxyConn) message(kind []byte) (int, error) {
	length := make([]byte, 4)
	_, err := io.ReadFull(c.near, length)
	if err != nil {
		return 0, err
	}
	body := make([]byte, binary.BigEndian.Uint32(length)-4)
	_, err = io.ReadFull(c.near, body)
	if err != nil {
		return 0, err
	}
	switch c.decide(kind, body) {
	case Cut:
		return 0, net.ErrClosed
	case Hang:
		return 0, nil
	case Refuse:
		c.apply(Pass)
		return c.near.Write(refusal())
	}
	return c.far.Write(bytes.Join([][]byte{kind, length, body}, nil))
}

// decide returns the action for a message.
func (c *proxyConn) decide(kind, body []byte) Action {
	if action := c.current(); action != Pass {
		return action
	}
	parts := strings.Split(string(body), "\x00")
	var statement string
	switch string(kind) {
	case "P": // Parse: the name and the text of a statement
		c.statements[parts[0]] = parts[1]
		return Pass
	case "B": // Bind: a portal and the name of its statement
		statement = c.statements[parts[1]]
	case "Q":
		statement = parts[0]
	default:
		return Pass
	}
	c.proxy.mu.Lock()
	rule := c.proxy.rule
	c.proxy.mu.Unlock()
	action := rule(statement)
	if strings.HasPrefix(statement, "LISTEN") && action == Pass {
		c.mu.Lock()
		c.listen = statement
		c.mu.Unlock()
	}
	c.apply(action)
	return action
}

// refusal returns an ErrorResponse with feature_not_supported, and a ReadyForQuery.
func refusal() []byte {
	fields := "SERROR\x00VERROR\x00C0A000\x00Munimplemented: this syntax\x00\x00"
	answer := binary.BigEndian.AppendUint32([]byte("E"), uint32(4+len(fields)))
	answer = append(answer, fields...)
	return append(answer, 'Z', 0, 0, 0, 5, 'I')
}
