package openid

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// A fapiPlan is one configuration of the suite for FAPI 2.0.
type fapiPlan struct {
	Alias       string              `json:"alias"`
	Description string              `json:"description"`
	Server      server              `json:"server"`
	Client      fapiClient          `json:"client"`
	Client2     fapiClient          `json:"client2"`
	MTLS        pair                `json:"mtls"`
	MTLS2       pair                `json:"mtls2"`
	Resource    resource            `json:"resource"`
	Browser     []visit             `json:"browser"`
	Override    map[string]override `json:"override"`
}

type fapiClient struct {
	ID    string `json:"client_id"`
	Scope string `json:"scope"`
	JWKS  struct {
		Keys []map[string]any `json:"keys"`
	} `json:"jwks"`
}

type pair struct {
	Certificate string `json:"cert"`
	Key         string `json:"key"`
}

type resource struct {
	URL string `json:"resourceUrl"`
}

// metadata is what the suite reads at discoveryUrl.
type metadata struct {
	Issuer        string            `json:"issuer"`
	Authorization string            `json:"authorization_endpoint"`
	Token         string            `json:"token_endpoint"`
	Push          string            `json:"pushed_authorization_request_endpoint"`
	Aliases       map[string]string `json:"mtls_endpoint_aliases"`
}

// TestRehearsalFAPI runs setup.sh for an address with TLS, starts Mandate and nginx from the folder,
// and follows each plan with both clients from the pushed request to the protected resource.
func TestRehearsalFAPI(t *testing.T) {
	testkit.Program(t, "openssl", "openssl")
	nginx := "/usr/sbin/nginx"
	if _, err := os.Stat(nginx); err != nil {
		testkit.Missing(t, "nginx is not installed: apt-get install nginx")
	}
	answers := make(chan url.Values, 1)
	suite := httptest.NewServer(stand(answers, nil))
	t.Cleanup(suite.Close)
	folder, listen, at := t.TempDir(), port.Address(), twoPorts(t)
	out, err := exec.Command("sh", "setup.sh", "-o", folder, "-s", suite.URL, "-l", listen, "https://"+at).CombinedOutput()
	if err != nil {
		t.Fatalf("setup.sh: %v\n%s", err, out)
	}
	serve(t, folder, "http://"+listen)
	trust := proxy(t, nginx, folder, at)
	names, err := filepath.Glob(filepath.Join(folder, "fapi2-*.json"))
	if err != nil || len(names) != 16 {
		t.Fatalf("setup.sh has written %d plans: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := readPlan[fapiPlan](t, name)
			for i, client := range []fapiClient{p.Client, p.Client2} {
				f := newFlow(t, p, client, []pair{p.MTLS, p.MTLS2}[i], trust, answers)
				f.callback = suite.URL + "/test/a/" + p.Alias + "/callback" + []string{"", "?dummy1=lorem&dummy2=ipsum"}[i]
				f.follow(t)
			}
		})
	}
	p := readPlan[fapiPlan](t, filepath.Join(folder, "fapi2-key-dpop.json"))
	f := newFlow(t, p, p.Client, p.MTLS, trust, answers)
	f.callback = suite.URL + "/test/a/" + p.Alias + "/callback"
	f.overrides(t)
	f.reuse(t)
	// The suite tries RS256 only with a key of this algorithm.
	if alg := p.Client.JWKS.Keys[0]["alg"]; alg != "PS256" {
		t.Errorf("the first client has a key for %v", alg)
	}
}

// twoPorts returns an address whose port is free, as is the next one.
func twoPorts(t *testing.T) string {
	t.Helper()
	for range 50 {
		address := port.Address()
		port, err := strconv.Atoi(strings.TrimPrefix(address, "127.0.0.1:"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1))
		if err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no two ports are free")
	return ""
}

// proxy runs nginx from the folder, on loopback alone, and returns the certificates to trust.
func proxy(t *testing.T, nginx, folder, at string) *x509.CertPool {
	t.Helper()
	file := filepath.Join(folder, "nginx.conf")
	config, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.ReplaceAll(config, []byte("listen "), []byte("listen 127.0.0.1:")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	command := exec.Command(nginx, "-p", folder, "-c", file, "-g", "daemon off; master_process off;")
	command.Stderr = &log
	err = command.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = command.Wait()
		if t.Failed() {
			t.Logf("nginx's log:\n%s", log.Bytes())
		}
	})
	trusted, err := os.ReadFile(filepath.Join(folder, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(trusted)
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := tls.Dial("tcp", at, &tls.Config{RootCAs: trust})
		if err == nil {
			conn.Close()
			return trust
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx is not ready: %v\n%s", err, log.Bytes())
		}
	}
}
