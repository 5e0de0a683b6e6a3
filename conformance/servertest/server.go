package servertest

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"mandate/conformance/engine"
	"mandate/conformance/target"
	"mandate/testkit"
)

// What the tests of a process share: a folder, the binary in it, and the servers.
var (
	workDir string
	serving sync.Mutex
	servers = map[string]*Server{} // by database

	cleanups []func() // for what all tests share
)

// Binary builds the program once, and returns its path.
var Binary = sync.OnceValues(func() (string, error) {
	return testkit.Built(root(), workDir, false)
})

// root returns the folder of the module.
func root() string {
	dir := "."
	for range 8 {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return dir
}

// Server is a running Mandate with everything that the rules need.
type Server struct {
	dir, URL string
	Front    string // the address of a proxy in front of it, if there is one
	cmd      *exec.Cmd
	exited   chan struct{}
	log      bytes.Buffer
	clients  *authority // of the certificates of clients
	tls      bool       // the server does TLS itself, not a proxy
	mutual   string     // the address at which clients are asked for certificates
	Runner   *engine.Runner

	Certified *target.Target // the target, with clients of FAPI 2.0 that have certificates
	err       error          // why it did not start
}

// Certificate returns the path of the certificate that the server and its clients trust. It is for the metadata
// documents of clients, and for what asks clients for certificates.
func (s *Server) Certificate() string { return filepath.Join(s.dir, "certificate.pem") }

// key returns the path of its private key.
func (s *Server) key() string { return filepath.Join(s.dir, "key.pem") }

func (s *Server) known() string { return cmp.Or(s.Front, s.URL) }
