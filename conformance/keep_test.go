package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// On a server without RFC 7592 nobody can delete clients. With register: reuse only the first run registers them, and
// rules register no others.
func TestRegisteredClientsAreReused(t *testing.T) {
	server := newRegistrar(t)
	server.stay = true
	of := server.target()
	of.Register, of.Endpoints = target.Reuse, map[string]string{"token_endpoint": server.url + "/nothing"}
	path := targetFile(t, of)
	kept := filepath.Join(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".yaml")+".clients.yaml")
	run := []string{"--target", path, "--only", "RFC6749/4.4", "--only", "RFC7591/3.2.1"}
	servertest.Run(t, "", run...).Want(t, 1, "which would stay with register: reuse")
	registered, before := server.registered, read(t, kept)
	if registered < 2 || !strings.Contains(before, "secret-of-client1") || strings.Contains(read(t, path), "secret-of") {
		t.Errorf("%d clients were registered, and the file is\n%s", registered, before)
	}
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error("others can read the secrets:", info.Mode(), err)
	}
	got := servertest.Run(t, "", run...)
	got.Want(t, 1, "404 Not Found")
	for _, hidden := range []string{"stays registered", "secret-of-"} {
		if strings.Contains(got.Stdout+got.Stderr, hidden) {
			t.Errorf("the second run says %q:\n%s%s", hidden, got.Stdout, got.Stderr)
		}
	}
	if server.registered != registered || read(t, kept) != before || len(server.clients) != registered {
		t.Errorf("%d clients were registered, then %d:\n%s", registered, server.registered, read(t, kept))
	}

	// One that is lost is registered again, and the others stay.
	again, err := target.Load(kept)
	if err != nil {
		t.Fatal(err)
	}
	delete(again.Clients, "code")
	err = again.Write(kept)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Run(t, "", run...).Want(t, 1, "404 Not Found")
	after, err := target.Load(kept)
	if err != nil || server.registered != registered+1 || len(after.Clients) != registered ||
		after.Clients["second"].ID != again.Clients["second"].ID {
		t.Errorf("%v: %d clients were registered, then %d:\n%s", err, registered, server.registered, read(t, kept))
	}

	// Clients of another server are not used, and their secrets are not sent to it.
	another := newRegistrar(t)
	of.Issuer = another.url
	err = of.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Run(t, "", run...).Want(t, 2,
		"these clients are of "+server.url+", and the target is of "+another.url+": remove the file")
	// Without reuse the file is not read.
	of.Register = target.Once
	err = of.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Run(t, "", run...).Want(t, 1, "404 Not Found")
	another.empty(t, 2)
}

// Clients that cannot be kept are deleted.
func TestRegisteredClientsCannotBeKept(t *testing.T) {
	server := newRegistrar(t)
	of := server.target()
	of.Register = target.Reuse
	path := targetFile(t, of)
	err := os.Mkdir(strings.TrimSuffix(path, ".yaml")+".clients.yaml.new", 0o700)
	if err != nil {
		t.Fatal(err)
	}
	of.Endpoints = map[string]string{"token_endpoint": server.url + "/nothing"}
	err = of.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Run(t, "", "--target", path, "--only", "RFC6749/4.4").Want(t, 2, "keep the clients for the next run")
	server.empty(t, 2)
}

func TestRegisterInTheTarget(t *testing.T) {
	for text, want := range map[string]target.Registering{"true": target.Once, "false": "", "reuse": target.Reuse,
		`"reuse"`: target.Reuse} {
		of, err := target.Load(targetText(t, "issuer: https://a.example\nregister: "+text+"\n"))
		if err != nil || of.Register != want {
			t.Errorf("%s: %v, %v", text, of, err)
			continue
		}
		var written strings.Builder
		err = of.Encode(&written)
		said := map[target.Registering]string{target.Once: "register: true\n", target.Reuse: "register: reuse\n"}[want]
		if err != nil || !strings.Contains(written.String(), said) ||
			want == "" && strings.Contains(written.String(), "register") {
			t.Errorf("%s: it is written as %s", text, &written)
		}
	}
	for _, text := range []string{"again", "1", "[reuse]", `"true"`} {
		_, err := target.Load(targetText(t, "issuer: https://a.example\nregister: "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2: register must be true, false or reuse") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// read returns the content of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
