package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTarget measures Mandate like another provider: by its metadata, one client and a cookie.
func TestTarget(t *testing.T) {
	o := &options{stdout: io.Discard, stderr: t.Output()}
	remove, err := o.workFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	o.binary, err = binary()
	if err != nil {
		t.Fatal(err)
	}
	s, err := startMandate(t.Context(), o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	known, err := mandateTarget(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	app, err := s.register(t.Context(), "all in one", "--grant", "client_credentials", "--grant", "authorization_code",
		"--redirect-uri", "http://127.0.0.1/other", "--skip-consent", "--may-introspect")
	if err != nil {
		t.Fatal(err)
	}
	cookies, file := filepath.Join(o.dir, "cookies"), filepath.Join(o.dir, "all.json")
	err = os.WriteFile(cookies, []byte(strings.Join(known.cookies, "\n")+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BENCH_CLIENT_SECRET", app.Secret)
	args := []string{"--target", s.url + "/o", "--client-id", app.ID, "--scope", "read", "--redirect-uri",
		"http://127.0.0.1/other",
		"--cookie-file", cookies, "--resource-url", s.url + "/resource", "--target-pid", strconv.Itoa(s.process.PID()),
		"--rounds", "1", "--seconds", "0.2", "--warm-up", "0.1", "--introspect", "10", "--json", file}
	for _, more := range [][]string{{"--secret-in-body"}, {"--bare", "--databases", "sqlite"}} {
		must(t, append(args, more...)...)
		r := readReport(t, file)
		if len(r.Summaries) != 5 {
			t.Fatalf("%v: %d paths were measured, want 5: %+v", more, len(r.Summaries), r.Summaries)
		}
		for _, s := range r.Summaries {
			if len(s.Errors) > 0 || s.Rate <= 0 || (s.Bare > 0) != (more[0] == "--bare") {
				t.Errorf("%v: %s: %+v", more, s.Path, s)
			}
		}
	}
}
