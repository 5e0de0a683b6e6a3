package httpserve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The forms of an address to listen at, beside host:port.
const (
	unixPrefix = "unix:"   // unix:/run/mandate.sock
	inherited  = "systemd" // systemd, or systemd:NAME with the FileDescriptorName of the socket unit
)

// IsAddress reports whether a text is an address to listen at.
func IsAddress(text string) bool {
	if IsSocket(text) {
		path, unix := strings.CutPrefix(text, unixPrefix)
		return !unix || filepath.IsAbs(path) && filepath.Clean(path) == path
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " /@") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// IsSocket reports whether an address has no port of its own: a file, or a socket that the service manager has opened.
func IsSocket(address string) bool {
	return strings.HasPrefix(address, unixPrefix) || address == inherited || strings.HasPrefix(address, inherited+":")
}

// Listen binds an address. Its error names the setting that the address came from. environ is the environment of the
// process, in which a service manager describes the sockets that it passes.
func Listen(address, setting string, environ []string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, unixPrefix)
	switch {
	case unix:
		return listenUnix(path, setting)
	case IsSocket(address):
		_, name, _ := strings.Cut(address, ":")
		return listenInherited(name, setting, environ)
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"%w: set %s to another port, for example %s: 127.0.0.1:8001, or free this one", err, setting, setting,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: change %s", err, setting)
	}
	return l, nil
}

// socketMode lets the reverse proxy connect if its account is in the group of the socket.
const socketMode = 0o660

// listenUnix replaces a socket that a server has left behind when it was killed, and no other file.
func listenUnix(path, setting string) (net.Listener, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSocket != 0 {
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
			return nil, fmt.Errorf("another process listens at %s: set %s to another path, or stop it", path, setting)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path) // Listen reports what is in the way
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf(
			"%w: %s needs a path in a folder where this account can write, and at which there is no file", err, setting,
		)
	}
	err = os.Chmod(path, socketMode)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return local{l}, nil
}

// firstInherited is the number of the first socket of a service manager (sd_listen_fds(3)).
const firstInherited = 3

// listenInherited takes over a socket that the service manager has opened: the one of this name, or the only one.
func listenInherited(name, setting string, environ []string) (net.Listener, error) {
	count, err := strconv.Atoi(variable(environ, "LISTEN_FDS"))
	if err != nil || count < 1 || variable(environ, "LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf(
			"%s is systemd, and systemd has passed no socket to this process: start it by a .socket unit, or set %s to "+
				"host:port",
			setting, setting,
		)
	}
	names := strings.Split(variable(environ, "LISTEN_FDNAMES"), ":")
	at := slices.Index(names, name)
	if name == "" && count == 1 {
		at = 0
	}
	if at < 0 || at >= count {
		return nil, fmt.Errorf(
			"%s: systemd has passed the sockets %s: name one of them, such as systemd:%s (FileDescriptorName= of the .socket "+
				"unit)",
			setting, strings.Join(names, ", "), names[0],
		)
	}
	file := os.NewFile(uintptr(firstInherited+at), name)
	defer file.Close() // the listener has a copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("%s: the socket of systemd: %w", setting, err)
	}
	if l.Addr().Network() == "unix" {
		return local{l}, nil
	}
	return l, nil
}

// variable returns the value of an environment variable, or "".
func variable(environ []string, name string) string {
	for _, v := range environ {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// local is a listener at a file. Its peers have no address of the network. They are on this machine, so each counts as
// 127.0.0.1, which TRUSTED_PROXIES can list.
type local struct{ net.Listener }

// Accept waits for a connection.
func (l local) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return localConn{c}, nil
}

type localConn struct{ net.Conn }

// RemoteAddr returns the address that the peer counts as.
func (localConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Address is where this machine reaches a listener, as the host of a URL. At a file, Dial finds it under any host.
func Address(l net.Listener) string {
	if atFile(l) {
		return "localhost"
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return at.String()
}

// Place describes a listener for people.
func Place(l net.Listener) string {
	if atFile(l) {
		return unixPrefix + l.Addr().String()
	}
	return Scheme(l) + "://" + l.Addr().String()
}

// Dial returns how this process connects to a listener, or nil if its address says it all.
func Dial(l net.Listener) func(ctx context.Context, network, address string) (net.Conn, error) {
	if !atFile(l) {
		return nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", l.Addr().String())
	}
}

func atFile(l net.Listener) bool { return l.Addr().Network() == "unix" }
