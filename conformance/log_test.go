package conformance

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
)

func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	exchanges := []wire.Exchange{{Sent: "POST https://as.example/token\n", Got: "200 OK\n", Repeat: "curl one"},
		{Sent: "GET https://as.example/me\n", Got: "401 Unauthorized\n", Repeat: "curl two"}}
	result := failure("a", check.Fail, "the server is wrong", "", "")
	result.Log = exchanges
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for range 2 { // the second run replaces the file
		log, err := engine.NewLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		log.Keep(result)
		log.Keep(failure("b", check.Skip, "no client", "", ""))
		if log.Err() != nil {
			t.Fatal(log.Err())
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "TEST_1_a.txt" {
		t.Fatalf("%v: %v", err, files)
	}
	path := filepath.Join(dir, "TEST_1_a.txt")
	text, err := os.ReadFile(path)
	for _, want := range []string{"TEST/1/a\nMUST: ", "FAIL in 0.0 s\nthe server is wrong\n",
		"=== Request 1 of 2\n\nPOST https://as.example/token\n", "=== Answer\n\n401 Unauthorized\n",
		"=== To repeat it\n\ncurl two\n"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: the log lacks %q:\n%s", err, want, text)
		}
	}
	for of, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		info, err := os.Stat(of)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%v: %s has mode %v", err, of, info.Mode())
		}
	}
	// A link that somebody put there does not lead elsewhere.
	err = os.Remove(path)
	if err == nil {
		err = os.Symlink(elsewhere, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := engine.NewLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Keep(result)
	_, err = os.Stat(elsewhere)
	if log.Err() != nil || !os.IsNotExist(err) {
		t.Errorf("%v, %v", log.Err(), err)
	}
	_, err = engine.NewLog(path)
	if err == nil {
		t.Error("a file is taken as a folder")
	}
}

// A body cannot look like another request of the log.
func TestLogSections(t *testing.T) {
	dir := t.TempDir()
	result := failure("a", check.Fail, "one\n=== Request 1 of 9", "", "")
	result.Log = []wire.Exchange{{Sent: "=== Answer\n", Got: "200 OK\n\n=== Request 2 of 3\n=== Answer\n",
		Repeat: "curl 'a\n=== Answer'"}}
	log, err := engine.NewLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Keep(result)
	text, err := os.ReadFile(filepath.Join(dir, "TEST_1_a.txt"))
	if n := strings.Count("\n"+string(text), "\n==="); err != nil || n != 3 {
		t.Errorf("%v: %d sections:\n%s", err, n, text)
	}
}

// Every rule has a file name of its own, also where upper and lower case are the same.
func TestLogNames(t *testing.T) {
	safe, taken := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.txt$`), map[string]string{}
	for _, r := range rules.All() {
		name := engine.LogName(r.ID)
		if other := taken[strings.ToLower(name)]; !safe.MatchString(name) || other != "" {
			t.Errorf("%s has the file %s, like %q", r.ID, name, other)
		}
		taken[strings.ToLower(name)] = r.ID
	}
	if name := engine.LogName("../a b/c:d"); name != ".._a_b_c_d.txt" {
		t.Errorf("the name is %s", name)
	}
}

// The flag --log keeps the requests of rules that hold, too, without secrets.
func TestCommandLog(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	dir := filepath.Join(t.TempDir(), "log")
	target := copied(s)
	path := targetFile(t, target)
	servertest.Run(t, "", "--target", path, "--only", "RFC7636/4.6", "--only", "RFC6749/4.4", "--log", dir).Want(t, 0)
	all := ""
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	for _, want := range []string{"RFC7636/4.6/verifier-compared\nMUST: ", "pass in ", "=== Request 1 of ", "code=$CODE",
		`"access_token":"$ACCESS_TOKEN"`, "curl -i "} {
		if !strings.Contains(all, want) {
			t.Errorf("the %d files lack %q", len(files), want)
		}
	}
	for _, secret := range []string{target.User.Password, target.Clients[need.Code].Secret, "mat_"} {
		if strings.Contains(all, secret) {
			t.Errorf("the log has the secret %s", secret)
		}
	}
	servertest.Run(t, "", "--target", path, "--only", "RFC7636/4.6", "--log", path).Want(t, 2, "mandate: --log: ",
		"not a directory")
}

// With five workers, five checks wait for the server at the same time.
func TestCommandWorkers(t *testing.T) {
	const workers = 5
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	var mu sync.Mutex
	var once sync.Once
	waiting, most, all := 0, 0, make(chan struct{})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		waiting++
		most = max(most, waiting)
		if waiting == workers {
			once.Do(func() { time.AfterFunc(200*time.Millisecond, func() { close(all) }) }) // another would come meanwhile
		}
		mu.Unlock()
		select {
		case <-all:
		case <-r.Context().Done():
		}
		mu.Lock()
		waiting--
		mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
	})
	path := targetText(t, "issuer: "+server.URL+"\nendpoints: {token_endpoint: "+server.URL+
		"/token}\nclients:\n  machine: {id: m, secret: verysecret, scope: read}\n")
	servertest.Run(t, "", "--target", path, "--only", "RFC6749", "--workers", "5", "--timeout", "20s").Want(t, 1,
		"rules in ")
	mu.Lock()
	defer mu.Unlock()
	if most != workers {
		t.Errorf("%d requests waited at the same time, want %d", most, workers)
	}
}
