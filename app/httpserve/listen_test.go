package httpserve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressesToListenAt(t *testing.T) {
	for text, want := range map[string]struct{ address, socket bool }{
		"127.0.0.1:8000":         {address: true},
		"[::1]:8000":             {address: true},
		":8000":                  {address: true},
		"host:0":                 {address: true},
		"unix:/run/mandate.sock": {true, true},
		"systemd":                {true, true},
		"systemd:http":           {true, true},
		"unix:mandate.sock":      {false, true},
		"unix:/run/../x":         {false, true},
		"unix:":                  {false, true},
		"unix:/run/":             {false, true},
		"":                       {},
		"8000":                   {},
		"127.0.0.1":              {},
		"127.0.0.1:http":         {},
		"127.0.0.1:65536":        {},
		"a b:1":                  {},
		"u@h:1":                  {},
		"systemdx":               {},
		"/run/x.sock":            {},
	} {
		if got := IsAddress(text); got != want.address {
			t.Errorf("IsAddress(%q) = %t", text, got)
		}
		if got := IsSocket(text); got != want.socket {
			t.Errorf("IsSocket(%q) = %t", text, got)
		}
	}
}

// socketPath returns a short path: the system limits the length.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "m.sock")
}

func TestListenAtAFile(t *testing.T) {
	path := socketPath(t)
	// A server that was killed leaves its socket behind.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	l, err := Listen("unix:"+path, "LISTEN", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Error(info, err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) }))
	client := &http.Client{Transport: &http.Transport{DialContext: Dial(l)}}
	answer, err := client.Get("http://" + Address(l) + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	peer, err := io.ReadAll(answer.Body)
	if err != nil || string(peer) != "127.0.0.1:0" {
		t.Errorf("the peer counts as %q, %v", peer, err)
	}
	if Place(l) != "unix:"+path {
		t.Error(Place(l))
	}
	_, err = Listen("unix:"+path, "LISTEN", nil)
	if err == nil || !strings.Contains(err.Error(), "another process listens at "+path+": set LISTEN") {
		t.Error("a socket in use:", err)
	}
	l.Close()
	_, err = os.Stat(path)
	if !os.IsNotExist(err) {
		t.Error("the socket stays:", err)
	}
}

func TestListenKeepsOtherFiles(t *testing.T) {
	path := socketPath(t)
	err := os.WriteFile(path, []byte("mine"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Listen("unix:"+path, "LISTEN", nil)
	if err == nil || !strings.Contains(err.Error(), "LISTEN needs a path") {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = Listen("unix:"+filepath.Join(filepath.Dir(path), "missing", "m.sock"), "LISTEN", nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "LISTEN needs a path") {
		t.Error(err)
	}
}

func TestNoSocketOfSystemd(t *testing.T) {
	_, err := Listen("systemd", "LISTEN", []string{"LISTEN_FDS=1", "LISTEN_PID=1"}) // of another process
	if err == nil || !strings.Contains(err.Error(), "systemd has passed no socket to this process") {
		t.Error(err)
	}
}
