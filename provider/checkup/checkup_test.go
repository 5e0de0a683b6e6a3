package checkup_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"mandate/provider/checkup"
	"mandate/testkit"
)

// house is a server as Mandate is, behind a proxy that may spoil everything.
type house struct {
	*httptest.Server
	asked []string // method, path and the headers that matter
	spoil func(w http.ResponseWriter, r *http.Request, metadata map[string]any, keys []map[string]any) bool
}

func open(t *testing.T, start func(*httptest.Server),
	spoil func(http.ResponseWriter, *http.Request, map[string]any, []map[string]any) bool) *house {
	t.Helper()
	h := &house{spoil: spoil}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	start(h.Server)
	t.Cleanup(h.Close)
	return h
}

func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	h.asked = append(h.asked, r.Method+" "+r.URL.Path)
	issuer := h.URL + "/o"
	metadata := map[string]any{"issuer": issuer, "authorization_endpoint": issuer + "/authorize/",
		"token_endpoint": issuer + "/token/", "jwks_uri": issuer + "/.well-known/jwks.json",
		"userinfo_endpoint": issuer + "/userinfo/", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}}
	keys := []map[string]any{{"kty": "RSA", "kid": "a", "use": "sig",
		"n": "u1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0_IzW7yWR7QkrmBL7jTKEn5u-qKhbwKfBstIs-bMY2Zkp18gnTxKLxoS2tFczGkPLPgizskuemMghRniWaoLcyehkd3qqGElvW_VDL5AaWTg0nLVkjRo9z-40RQzuVaE8AkAFmxZzow3x-VJYKdjykkJ0iT9wCS0DRTXu269V264Vf_3jvredZiKRkgwlL9xNAwxXFg0x_XFw005UWVRIkdgcKWTjpBP2dPwVZ4WWC-9aGVd-Gyn1o0CLelf4rEjGoXbAAEgAqeGUxrcIlbjXfbcmw", "e": "AQAB"},
		{"kty": "OKP", "crv": "Ed25519", "kid": "b", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if h.spoil != nil && h.spoil(w, r, metadata, keys) {
		return
	}
	switch {
	case r.URL.Path == "/o/.well-known/jwks.json" && r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	case r.URL.Path == "/o/.well-known/jwks.json":
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = w.Write([]byte(`{"error":"invalid_request"}`))
	case r.URL.Path == "/o/userinfo/":
		challenge := `Bearer realm="mandate"`
		if r.Header.Get("Authorization") != "" {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case strings.Contains(r.URL.Path, "/.well-known/"):
		_ = json.NewEncoder(w).Encode(metadata)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (h *house) look(t *testing.T, now time.Time) map[string]checkup.Finding {
	t.Helper()
	client := h.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return byCheck(t, checkup.Site{BaseURL: h.URL, OpenID: true, Client: client,
		Now: func() time.Time { return now }}.Look(t.Context()))
}

func byCheck(t *testing.T, found []checkup.Finding) map[string]checkup.Finding {
	t.Helper()
	by := map[string]checkup.Finding{}
	for _, f := range found {
		name := f.Check
		if f.Check == "libraries" {
			name += " " + f.About
		}
		if _, twice := by[name]; twice {
			t.Errorf("%s twice", name)
		}
		if f.Text == "" || (f.Weight != checkup.Fine) != (f.Remedy != "") {
			t.Errorf("%+v: a finding needs a remedy, and nothing else does", f)
		}
		by[name] = f
	}
	return by
}

// weights lists what was found, without what is fine.
func weights(by map[string]checkup.Finding) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if f := by[name]; f.Weight != checkup.Fine {
			lines = append(lines, name+"="+string(f.Weight))
		}
	}
	return strings.Join(lines, ", ")
}

func plain(s *httptest.Server) { s.Start() }

// A server without a fault has no finding, and each fault of a proxy has its own.
func TestEachFaultHasItsFinding(t *testing.T) {
	isMetadata := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "-configuration") }
	for name, test := range map[string]struct {
		spoil func(w http.ResponseWriter, r *http.Request, metadata map[string]any, keys []map[string]any) bool
		want  string
	}{
		"nothing": {nil, ""},
		"a redirect": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			return true
		}, "reachable=wrong"},
		"a login page of the proxy": {func(w http.ResponseWriter, r *http.Request, _ map[string]any,
			_ []map[string]any) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}, "reachable=wrong"},
		"nothing behind the proxy": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}, "reachable=wrong"},
		"paths that do not come through": {func(w http.ResponseWriter, r *http.Request, _ map[string]any,
			_ []map[string]any) bool {
			w.WriteHeader(http.StatusNotFound)
			return true
		}, "reachable=wrong"},
		"a page in place of the metadata": {func(w http.ResponseWriter, r *http.Request, _ map[string]any,
			_ []map[string]any) bool {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<!doctype html>\x1b[31m"))
			return true
		}, "metadata=wrong"},
		"text/plain": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			if isMetadata(r) {
				w.Header().Set("Content-Type", "text/plain")
			}
			return false
		}, "libraries openid-client=wrong, metadata=wrong"},
		"another issuer": {func(_ http.ResponseWriter, _ *http.Request, m map[string]any, _ []map[string]any) bool {
			m["issuer"] = m["issuer"].(string) + "/"
			return false
		}, "issuer=wrong, libraries Spring Security=wrong, libraries go-oidc=wrong, libraries openid-client=wrong"},
		"rewritten endpoints": {func(_ http.ResponseWriter, _ *http.Request, m map[string]any, _ []map[string]any) bool {
			m["token_endpoint"] = "http://127.0.0.1:8000/o/token/"
			return false
		}, "endpoints=wrong"},
		"CORS of the proxy too": {func(w http.ResponseWriter, _ *http.Request, _ map[string]any, _ []map[string]any) bool {
			w.Header().Add("Access-Control-Allow-Origin", "*")
			return false
		}, "cors=wrong"},
		"CORS removed": {func(w http.ResponseWriter, _ *http.Request, _ map[string]any, _ []map[string]any) bool {
			w.Header().Del("Access-Control-Allow-Origin")
			return false
		}, "cors=warning"},
		"the root of the host leads elsewhere": {func(w http.ResponseWriter, r *http.Request, _ map[string]any,
			_ []map[string]any) bool {
			if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
				return false
			}
			w.WriteHeader(http.StatusNotFound)
			return true
		}, "well-known=warning"},
		"error pages of the proxy": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			if r.Method != http.MethodPost {
				return false
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
			_, _ = w.Write([]byte("<html>405</html>"))
			return true
		}, "errors=wrong"},
		"a cache": {func(w http.ResponseWriter, _ *http.Request, _ map[string]any, _ []map[string]any) bool {
			w.Header().Del("Cache-Control")
			return false
		}, "errors=wrong"},
		"Authorization removed": {func(_ http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			r.Header.Del("Authorization")
			return false
		}, "authorization=wrong"},
		"no keys": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			if !strings.HasSuffix(r.URL.Path, "jwks.json") || r.Method != http.MethodGet {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}, "jwks=wrong, libraries Spring Security=wrong"},
		"a private key": {func(_ http.ResponseWriter, _ *http.Request, _ map[string]any, keys []map[string]any) bool {
			keys[0]["d"] = "AQAB"
			return false
		}, "jwks=wrong"},
		"a required member is missing": {func(_ http.ResponseWriter, _ *http.Request, m map[string]any,
			_ []map[string]any) bool {
			delete(m, "subject_types_supported")
			return false
		}, "libraries Spring Security=wrong"},
		"an endless document": {func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			for i := 0; i < 1<<10 && isMetadata(r); i++ {
				_, _ = w.Write(make([]byte, 1<<10))
			}
			return isMetadata(r)
		}, "reachable=wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, plain, test.spoil)
			by := h.look(t, time.Now())
			if got := weights(by); got != test.want {
				t.Errorf("%s, want %s\n%+v", got, test.want, by)
			}
			for _, f := range by {
				if strings.ContainsAny(f.Text, "\x1b\n") {
					t.Errorf("%q has what a terminal executes", f.Text)
				}
			}
			for _, asked := range h.asked {
				if !strings.HasPrefix(asked, "GET /") && asked != "POST /o/.well-known/jwks.json" {
					t.Errorf("%s can change something, or counts as a refused request", asked)
				}
			}
		})
	}
}

// A certificate that clients refuse is found, and so is one that ends soon. A clock that is wrong is found too.
func TestCertificateAndClock(t *testing.T) {
	h := open(t, func(s *httptest.Server) { s.StartTLS() }, nil)
	until := h.Certificate().NotAfter
	for name, test := range map[string]struct {
		now  time.Time
		want string
	}{
		"now":               {time.Now(), ""},
		"31 seconds ahead":  {time.Now().Add(32 * time.Second), "clock=wrong"},
		"31 seconds behind": {time.Now().Add(-32 * time.Second), "clock=wrong"},
		"a week before":     {until.Add(-7 * 24 * time.Hour), "certificate=warning, clock=wrong"},
	} {
		if got := weights(h.look(t, test.now)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	stranger := checkup.Site{BaseURL: h.URL, OpenID: true, Client: &http.Client{}, Now: time.Now}
	if got := weights(byCheck(t, stranger.Look(t.Context()))); got != "certificate=wrong, reachable=wrong" {
		t.Error(got)
	}
	for base, want := range map[string]string{
		"https://127.0.0.1:1": "certificate=warning, reachable=wrong", "http://127.0.0.1:1": "reachable=wrong",
		"http://intranet.invalid":                  "certificate=wrong, reachable=wrong",
		strings.Replace(h.URL, "https", "http", 1): "reachable=wrong",
	} {
		if got := weights(byCheck(t,
			checkup.Site{BaseURL: base, OpenID: true, Client: h.Client(), Now: time.Now}.Look(t.Context()))); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

// Whoever runs the command beside another server changes what nobody reads. While keys are replaced, or if there are
// none, it is no fault.
func TestAnotherServerIsFound(t *testing.T) {
	h := open(t, plain, nil) // it publishes a and b
	for ids, want := range map[string]checkup.Weight{"b": checkup.Fine, "c b": checkup.Fine,
		"c d": checkup.Wrong, "": ""} {
		site := checkup.Site{
			BaseURL: h.URL,
			OpenID:  true,
			KeyIDs:  strings.Fields(ids),
			Client:  h.Client(),
			Now:     time.Now,
		}
		if got := byCheck(t, site.Look(t.Context()))["same-server"]; got.Weight != want {
			t.Errorf("the database has %q: %+v, want %q", ids, got, want)
		}
	}
}

// What the table says about go-oidc is what go-oidc does.
func TestGoOIDCDoesAsTheTableSays(t *testing.T) {
	for name, spoil := range map[string]func(m map[string]any){
		"nothing":                  func(map[string]any) {},
		"a slash":                  func(m map[string]any) { m["issuer"] = m["issuer"].(string) + "/" },
		"capitals":                 func(m map[string]any) { m["issuer"] = strings.ToUpper(m["issuer"].(string)) },
		"no issuer":                func(m map[string]any) { delete(m, "issuer") },
		"a number":                 func(m map[string]any) { m["token_endpoint"] = 1 },
		"a list of endpoints":      func(m map[string]any) { m["jwks_uri"] = []string{"x"} },
		"one algorithm as a text":  func(m map[string]any) { m["id_token_signing_alg_values_supported"] = "RS256" },
		"no algorithm":             func(m map[string]any) { delete(m, "id_token_signing_alg_values_supported") },
		"no subject types":         func(m map[string]any) { delete(m, "subject_types_supported") },
		"null in place of a text":  func(m map[string]any) { m["userinfo_endpoint"] = nil },
		"something that is unread": func(m map[string]any) { m["service_documentation"] = 1 },
	} {
		h := open(t, plain, func(_ http.ResponseWriter, _ *http.Request, m map[string]any, _ []map[string]any) bool {
			spoil(m)
			return false
		})
		_, err := oidc.NewProvider(oidc.ClientContext(context.Background(), h.Client()), h.URL+"/o")
		f := h.look(t, time.Now())["libraries go-oidc"]
		if (err != nil) != (f.Weight == checkup.Wrong) {
			t.Errorf("%s: go-oidc says %v, and the table %s: %s", name, err, f.Weight, f.Text)
		}
	}
}

// Keys that a library cannot use are named, each with its library.
func TestKeysThatLibrariesRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(keys []map[string]any)
		want  string
	}{
		"an unknown type": {func(k []map[string]any) { k[1]["kty"] = "AKP" }, "libraries Authlib=wrong"},
		"padding":         {func(k []map[string]any) { k[1]["x"] = fmt.Sprint(k[1]["x"], "=") }, "libraries go-oidc=wrong"},
		"no modulus": {func(k []map[string]any) { delete(k[0], "n") },
			"libraries Authlib=wrong, libraries go-oidc=wrong"},
		"one kid twice":  {func(k []map[string]any) { k[1]["kid"] = "a" }, "libraries openid-client=wrong"},
		"no kid":         {func(k []map[string]any) { delete(k[1], "kid") }, "libraries Authlib=wrong"},
		"for encryption": {func(k []map[string]any) { k[0]["use"] = "enc" }, "libraries Spring Security=wrong"},
	} {
		h := open(t, plain, func(_ http.ResponseWriter, _ *http.Request, _ map[string]any, keys []map[string]any) bool {
			test.spoil(keys)
			return false
		})
		if got := weights(h.look(t, time.Now())); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// What the table says about keys is what go-oidc does with them.
func TestGoOIDCReadsKeysAsTheTableSays(t *testing.T) {
	// Nobody has signed it: go-oidc reads the keys first.
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"a"}`)) + ".e30.AAAA"
	for name, spoil := range map[string]func(keys []map[string]any){
		"nothing":         func([]map[string]any) {},
		"an unknown type": func(k []map[string]any) { k[1]["kty"] = "AKP" },
		"padding":         func(k []map[string]any) { k[1]["x"] = fmt.Sprint(k[1]["x"], "=") },
		"no modulus":      func(k []map[string]any) { delete(k[0], "n") },
		"no kid":          func(k []map[string]any) { delete(k[1], "kid") },
		"one kid twice":   func(k []map[string]any) { k[1]["kid"] = "a" },
	} {
		h := open(t, plain, func(_ http.ResponseWriter, _ *http.Request, _ map[string]any, keys []map[string]any) bool {
			spoil(keys)
			return false
		})
		keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), h.Client()), h.URL+"/o/.well-known/jwks.json")
		_, err := keys.VerifySignature(t.Context(), token)
		f := h.look(t, time.Now())["libraries go-oidc"]
		if unread := err != nil && strings.Contains(err.Error(), "decode keys"); unread != (f.Weight == checkup.Wrong) {
			t.Errorf("%s: go-oidc says %v, and the table %s: %s", name, err, f.Weight, f.Text)
		}
	}
}

// TestChecksDocs writes the table of the checks.
func TestChecksDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| Check | What it finds out |\n|---|---|\n")
	for _, c := range checkup.Checks() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", c.Name, c.What)
	}
	testkit.DocsBlock(t, "doctor.md", "checks", table.String()+"\n")
}

// A program that reads --json knows each name.
func TestEachFindingIsOfAListedCheck(t *testing.T) {
	for name := range open(t, plain, nil).look(t, time.Now()) {
		name, _, _ = strings.Cut(name, " ")
		if !slices.ContainsFunc(checkup.Checks(), func(c checkup.Check) bool { return c.Name == name }) {
			t.Errorf("%s is in no list", name)
		}
	}
}

// The remedy depends on what answers in place of the server.
func TestRemedyFitsWhatAnswers(t *testing.T) {
	for status, want := range map[int]string{http.StatusFound: "to which it redirects",
		http.StatusForbidden: "needs no sign-in", http.StatusBadGateway: "Start mandate serve",
		http.StatusNotFound: "pass all paths below BASE_URL"} {
		h := open(t, plain, func(w http.ResponseWriter, _ *http.Request, _ map[string]any, _ []map[string]any) bool {
			w.Header().Set("Location", "https://elsewhere.example/")
			w.WriteHeader(status)
			return true
		})
		if f := h.look(t, time.Now())["reachable"]; !strings.Contains(f.Remedy, want) {
			t.Errorf("%d: %s", status, f.Remedy)
		}
	}
}
