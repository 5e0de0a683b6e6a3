package resource

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mandate/provider/dpop"
	"mandate/provider/indicator"
	"mandate/provider/loopback"
)

// wellKnown is where an API describes itself (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// description is what an API publishes about itself: protected resource metadata (RFC
// 9728 §2).
type description struct {
	url    string // where it is published
	path   string // of that URL, without the final slash
	query  string
	fixed  members
	mu     sync.Mutex
	scopes []string // every scope that Require was called with
}

type members struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
	CertificateBound     bool     `json:"tls_client_certificate_bound_access_tokens,omitempty"`
	ProofAlgorithms      []string `json:"dpop_signing_alg_values_supported,omitempty"`
	ProofRequired        bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

// resourceURL returns the URL of an API, or nil if the audience is a name and no URL.
func resourceURL(c GuardConfig) *url.URL {
	u, err := url.Parse(c.Audience)
	if err != nil || indicator.Check(c.Audience) != "" || !secureURL(u, c.AllowHTTP) {
		return nil
	}
	return u
}

// secureURL reports whether a URL may be that of an API.
//
// RFC 9728 §1.2: a resource identifier is an https URL. Plain http is for a test on one
// computer.
func secureURL(u *url.URL, allowHTTP bool) bool {
	return u.Scheme == "https" || u.Scheme == "http" && (allowHTTP || loopback.Is(u.Hostname()))
}

// describe returns the description of an API, or nil if the settings have no issuer, or
// if the audience is a name and no URL.
func describe(c GuardConfig, proofs, certificates bool) *description {
	u := resourceURL(c)
	if u == nil || len(c.AuthorizationServers) == 0 {
		return nil
	}
	// RFC 9728 §3.1: the well-known part stands between the host and the path. A path that
	// is only a slash is left out.
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	d := &description{url: u.Scheme + "://" + u.Host + wellKnown + path, path: wellKnown + strings.TrimSuffix(path, "/"),
		query: u.RawQuery}
	if d.query != "" {
		d.url += "?" + d.query
	}
	d.fixed = members{Resource: c.Audience, AuthorizationServers: slices.Clone(c.AuthorizationServers),
		BearerMethods: []string{"header"}, Name: c.Name, Documentation: c.Documentation}
	// RFC 9728 §2: which bound tokens the API can check, and whether it accepts no others.
	d.fixed.CertificateBound, d.fixed.ProofRequired = certificates && c.RequiredBinding != bindingKey,
		c.RequiredBinding == bindingKey
	if proofs {
		d.fixed.ProofAlgorithms = dpop.Algorithms()
	}
	return d
}

// add notes the scopes of a rule. The scope offline_access is left out: it concerns the
// client and the authorization server, and no API (Model Context Protocol, authorization).
func (d *description) add(scopes []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range scopes {
		if s != "offline_access" && !slices.Contains(d.scopes, s) {
			d.scopes = append(d.scopes, s)
		}
	}
}

// isAt reports whether a request is for the description. It is at one address only: at
// the root of the host there may be another API (RFC 9728 §3.1). Some clients remove the
// final slash of a path.
func (d *description) isAt(u *url.URL) bool {
	return strings.HasPrefix(u.Path, wellKnown) && strings.TrimSuffix(u.EscapedPath(), "/") == d.path &&
		(d.query == "" || u.RawQuery == d.query)
}

func (d *description) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// Scripts of every site may read it, because it contains nothing about a person.
	h.Set("Access-Control-Allow-Origin", "*")
	if isPreflight(r) {
		h.Set("Access-Control-Allow-Methods", http.MethodGet)
		allowHeaders(h)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	// RFC 9728 §3.1: the request is a GET.
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		writeDetail(w, http.StatusMethodNotAllowed, "This address does not support that method. Use GET or HEAD.")
		return
	}
	d.mu.Lock()
	all := d.fixed
	all.Scopes = slices.Clone(d.scopes)
	d.mu.Unlock()
	body, err := json.Marshal(all)
	if err != nil {
		writeDetail(w, http.StatusInternalServerError, "Internal error.")
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300") // RFC 9728 §7.10
	w.Write(body)                                 // an error means that the client has closed the connection
}

// MetadataURL returns the URL at which the API describes itself, or "" if it does not.
func (g *Guard) MetadataURL() string {
	if g.described == nil {
		return ""
	}
	return g.described.url
}
