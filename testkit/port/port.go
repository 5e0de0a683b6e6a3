// Package port finds free ports for servers that a test or a benchmark starts.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
)

// The ports lie below those that the kernel gives to outgoing connections, which could take one before the server does.
const (
	first = 20000
	count = 12000
)

// kept are the marks of the ports that this process has given out.
var (
	mu   sync.Mutex
	kept = map[int]net.Listener{}
)

// Free returns a port of 127.0.0.1 on which nobody listens. Until the process ends, no other call returns it, also in
// another process: the server may start late, or again.
func Free() int {
	mu.Lock()
	defer mu.Unlock()
	for {
		port := first + rand.IntN(count)
		if _, taken := kept[port]; taken || !mark(port) {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port
		}
	}
}

// mark takes a port for this process. The mark is a socket with a name but no file, which Linux removes when the
// process ends. Elsewhere processes cannot see the ports of each other.
func mark(port int) bool {
	if runtime.GOOS != "linux" {
		kept[port] = nil
		return true
	}
	l, err := net.Listen("unix", fmt.Sprintf("@mandate-port-%d", port))
	if err != nil {
		return false
	}
	kept[port] = l
	return true
}

// Address returns such a port with its host.
func Address() string { return fmt.Sprintf("127.0.0.1:%d", Free()) }
