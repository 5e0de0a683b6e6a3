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

// Fate is what a Line does with a connection when it sees a statement.
type Fate int

// The fates of a connection.
const (
	// Pass forwards the statement.
	Pass    Fate = iota
	Cut          // closes the connection before the server receives the statement
	Swallow      // forwards the statement, and closes the connection instead of the answer
	Hang         // keeps the connection open and forwards nothing any more
	Refuse       // answers that the server does not support the statement
)

// Line is a proxy between a program and PostgreSQL, without TLS. It understands the
// protocol.
type Line struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	rule  func(statement string) Fate
	conns map[*lineConn]bool
}

// NewLine starts a Line to a database, and returns the database's address through it.
func NewLine(t testing.TB, databaseURL string) (*Line, string) {
	t.Helper()
	at, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{listener: listener, to: at.Host, conns: map[*lineConn]bool{}, rule: func(string) Fate { return Pass }}
	at.Host = listener.Addr().String()
	go l.serve()
	t.Cleanup(func() {
		listener.Close()
		l.each((*lineConn).close)
	})
	return l, at.String()
}

// Rule sets the function that decides the fate of each statement. It applies at once to
// the connections that have run LISTEN.
func (l *Line) Rule(rule func(statement string) Fate) {
	l.mu.Lock()
	l.rule = rule
	l.mu.Unlock()
	l.each(func(c *lineConn) {
		if c.listens() != "" {
			c.meet(rule(c.listens()))
		}
	})
}

// OfListening returns a rule that applies fate to the connections that run LISTEN.
func OfListening(fate Fate) func(string) Fate {
	return func(statement string) Fate {
		if strings.HasPrefix(statement, "LISTEN") {
			return fate
		}
		return Pass
	}
}

// Listening returns the number of connections that have run LISTEN.
func (l *Line) Listening() int {
	n := 0
	l.each(func(c *lineConn) {
		if c.listens() != "" {
			n++
		}
	})
	return n
}

func (l *Line) each(do func(*lineConn)) {
	l.mu.Lock()
	conns := make([]*lineConn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		do(c)
	}
}

func (l *Line) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			near.Close()
			continue
		}
		c := &lineConn{line: l, near: near, far: far, statements: map[string]string{}}
		l.mu.Lock()
		l.conns[c] = true
		l.mu.Unlock()
		go c.there()
		go c.back()
	}
}

type lineConn struct {
	line       *Line
	near, far  net.Conn
	statements map[string]string // prepared statements by name

	mu     sync.Mutex
	fate   Fate
	listen string
}

func (c *lineConn) listens() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listen
}

func (c *lineConn) met() Fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fate
}

func (c *lineConn) meet(fate Fate) {
	c.mu.Lock()
	c.fate = fate
	c.mu.Unlock()
	if fate == Cut {
		c.close()
	}
}

func (c *lineConn) close() {
	c.near.Close()
	c.far.Close()
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
}

// back forwards what the server sends.
func (c *lineConn) back() {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.far.Read(buffer)
		if err != nil || c.met() == Swallow {
			return
		}
		if c.met() == Hang {
			continue
		}
		_, err = c.near.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}

// there forwards what the program sends, message by message (PostgreSQL's
// documentation, Frontend/Backend Protocol, Message Formats).
func (c *lineConn) there() {
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

func (c *lineConn) message(kind []byte) (int, error) {
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
		c.meet(Pass)
		return c.near.Write(refusal())
	}
	return c.far.Write(bytes.Join([][]byte{kind, length, body}, nil))
}

// decide returns the fate of the connection for a message.
func (c *lineConn) decide(kind, body []byte) Fate {
	if fate := c.met(); fate != Pass {
		return fate
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
	c.line.mu.Lock()
	rule := c.line.rule
	c.line.mu.Unlock()
	fate := rule(statement)
	if strings.HasPrefix(statement, "LISTEN") && fate == Pass {
		c.mu.Lock()
		c.listen = statement
		c.mu.Unlock()
	}
	c.meet(fate)
	return fate
}

// refusal returns an ErrorResponse with feature_not_supported, and a ReadyForQuery.
func refusal() []byte {
	fields := "SERROR\x00VERROR\x00C0A000\x00Munimplemented: this syntax\x00\x00"
	answer := binary.BigEndian.AppendUint32([]byte("E"), uint32(4+len(fields)))
	answer = append(answer, fields...)
	return append(answer, 'Z', 0, 0, 0, 5, 'I')
}
