// Package checkup looks at a running server from outside, as an application does that reads its metadata (RFC 8414 §3,
// OIDC Discovery §4) and its keys (RFC 7517 §5). It changes nothing at the server, and its requests are no refused ones
// of the event log.
package checkup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Weight says how bad a finding is.
type Weight string

// The weights. With Wrong, applications or people cannot use the server as it is configured.
const (
	Wrong    Weight = "wrong"
	Doubtful Weight = "warning"
	Fine     Weight = "ok"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"` // one of Checks
	Weight Weight `json:"weight"`
	About  string `json:"about,omitempty"` // the application, the library or the address that it is about
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Compare orders findings, the worst first.
func Compare(a, b Finding) int {
	worst := []Weight{Wrong, Doubtful, Fine}
	return cmp.Compare(slices.Index(worst, a.Weight), slices.Index(worst, b.Weight))
}

// Check is what is looked at. Programs may rely on its name.
type Check struct{ Name, What string }

// Checks returns all checks, in the order in which they are made.
func Checks() []Check {
	return []Check{
		{"proxy", "whether the settings name the proxy that does TLS"},
		{"base-path", "whether `BASE_URL` ends in `/o`, which the server adds itself"},
		{"other-hosts", "whether `BASE_URL` is an address that containers and other hosts reach too"},
		{"reachable", "whether `BASE_URL` answers with the metadata, without a redirect or a sign-in of a proxy"},
		{"certificate", "whether the certificate is accepted, and valid for two more weeks"},
		{"clock", "whether the clock of `BASE_URL` agrees with that of this machine within 30 seconds"},
		{"metadata", "whether the metadata is a JSON object, and says so"},
		{"issuer", "whether the issuer is the one of this configuration"},
		{"endpoints", "whether all endpoints are below `BASE_URL`"},
		{"jwks", "whether the public keys can be read, and no private one"},
		{
			"same-server",
			"whether the server that answers at `BASE_URL` is the one with this database: one of its keys is there",
		},
		{"cors", "whether applications in a browser can read the metadata"},
		{"well-known", "whether the metadata is also where RFC 8414 §3.1 puts it, at the root of the host"},
		{"errors", "whether a POST and an error of the server come through the proxy, with `Cache-Control: no-store`"},
		{"authorization", "whether the headers `Authorization` and `WWW-Authenticate` come through the proxy"},
		{
			"forwarded",
			"whether the server learns the addresses of people from `X-Forwarded-For` of the proxy, and nobody chooses theirs",
		},
		{"libraries", "whether go-oidc, openid-client, Spring Security and Authlib accept the metadata and the keys"},
		{"database", "whether the database stores what is written"},
		{"database-clock", "whether the clock of the database agrees with that of this machine"},
		{"mail", "whether the mail server accepts a connection and the password. No message is sent"},
		{"keys", "whether a key signs now, and one of RSA"},
		{"addresses", "how many people have no confirmed email address: some applications refuse them"},
		{"redirect-uris", "whether each application has a redirect URI, and a safe one"},
		{"refused-requests", "what each application has asked for in the last seven days and did not get"},
	}
}

// Site is a server to look at.
type Site struct {
	BaseURL string // without a slash at its end
	OpenID  bool
	KeyIDs  []string // those that the database publishes; none: they are not compared
	// Question makes a question for the server, and reads the answer. nil: the server is not asked.
	Question func() (question string, read func(answer string) (Arrival, error))
	// Client calls nothing but the base URL. It follows no redirect, and limits time and size.
	Client *http.Client
	Now    func() time.Time
}

// most is how many bytes of a response are read.
const most = 256 << 10

// Body is how much a Client must let through.
const Body = most + 1

// answer is a response, or the reason why there is none.
type answer struct {
	*http.Response
	body []byte
	err  error
}

// ask sends one request to a path of the server.
func (s Site) ask(ctx context.Context, method, path string, header ...string) answer {
	r, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, nil)
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("User-Agent", "Mandate doctor")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.Client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && len(body) > most {
		err = fmt.Errorf("the response has more than %d bytes", most)
	}
	return answer{response, body, err}
}

// isJSON reports whether the header of a response says that it is JSON.
func isJSON(header http.Header) bool {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

func fine(check, format string, args ...any) Finding {
	return Finding{Check: check, Weight: Fine, Text: fmt.Sprintf(format, args...)}
}

// Look makes all checks from outside. If the metadata cannot be read, the others would only say so again.
func (s Site) Look(ctx context.Context) []Finding {
	found := []Finding{}
	path := "/o/.well-known/oauth-authorization-server"
	if s.OpenID {
		path = "/o/.well-known/openid-configuration"
	}
	first := s.ask(ctx, http.MethodGet, path, "Origin", "https://application.invalid")
	reached := s.reachable(first, path)
	found = append(found, reached, s.certificate(first))
	if reached.Weight == Wrong {
		return found
	}
	found = append(found, s.clock(first))
	document, wrong := read(first)
	found = append(found, wrong)
	if document == nil {
		return found
	}
	keys, published := s.keys(ctx, document)
	found = append(found, s.issuer(document), s.endpoints(document), published)
	if len(keys) > 0 && len(s.KeyIDs) > 0 {
		found = append(found, s.same(keys))
	}
	found = append(found, crossOrigin(first))
	found = append(found, s.otherPlaces(ctx, path), s.errors(ctx))
	if s.Question != nil {
		found = append(found, s.forwarded(ctx))
	}
	if s.OpenID {
		found = append(found, s.authorization(ctx))
		found = append(found,
			readByLibraries(seen{issuer: s.BaseURL + "/o", document: document, keys: keys, header: first.Header})...)
	}
	return found
}
