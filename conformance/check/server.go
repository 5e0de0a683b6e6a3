package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Server is the server under test, with the state that the checks of a run share.
type Server struct {
	Target   *target.Target
	Metadata Metadata            // what the server publishes; empty if it publishes nothing
	Refusals map[need.Need]error // why clients could not be registered
	Session  *browser.Jar        // cookies of the browser in which the person is signed in

	network *wire.Network
	mask    *wire.Mask
	origins map[string]bool // origins of the server's pages
	found   string          // the address of the metadata
	login
	receiver
}

// login is the state of the person's logins.
type login struct {
	walking sync.Mutex  // held by a check that uses the shared session
	entered atomic.Bool // the server has accepted the password
	refused atomic.Bool // the server has rejected the password: it is not sent again
	visited sync.Map    // sid of each visit
}

// receiver receives logout tokens.
type receiver struct {
	mu      sync.Mutex
	listens *Listener // started by the first check that needs it
}

// NewServer returns the server of a target, without its metadata.
func NewServer(of *target.Target, n *wire.Network) *Server {
	if of.Clients == nil {
		of.Clients = map[need.Need]*target.Client{}
	}
	return &Server{Target: of, Metadata: Metadata{}, Refusals: map[need.Need]error{}, Session: browser.NewJar(), network: n, mask: wire.NewMask(), origins: map[string]bool{}}
}

// Send sends a request outside of a check.
func (s *Server) Send(ctx context.Context, r *http.Request) (*wire.Answer, error) {
	return s.network.Do(ctx, r)
}

// Hide masks the secrets of the target in all reports.
func (s *Server) Hide() {
	s.mask.Add("password", s.Target.User.Password)
	for _, role := range slices.Sorted(maps.Keys(s.Target.Clients)) {
		s.mask.Add(string(role)+"_secret", s.Target.Clients[role].Secret)
	}
}

// MetadataAddresses returns the addresses at which an issuer can publish its metadata.
//
// RFC 8414 §3.1: the well-known part stands between host and path. OIDC Discovery §4: it stands behind the path.
func MetadataAddresses(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	addresses := []string{root + "/.well-known/oauth-authorization-server" + path}
	if path != "" {
		addresses = append(addresses, root+path+"/.well-known/openid-configuration")
	}
	return append(addresses, root+"/.well-known/openid-configuration"+path)
}

// ErrNoMetadata says that no address of the issuer has metadata.
var ErrNoMetadata = errors.New("publishes no metadata (RFC 8414, OIDC Discovery)")

// Discover reads the metadata. A server without metadata can be checked if the target names its endpoints.
func (s *Server) Discover(ctx context.Context) error {
	err := s.readMetadata(ctx)
	if err != nil {
		return err
	}
	for _, address := range append([]string{s.Target.Issuer, s.Endpoint(need.Authorization)}, s.Target.Origins...) {
		if address != "" {
			s.origins[wire.Origin(address)] = true
		}
	}
	return nil
}

func (s *Server) readMetadata(ctx context.Context) error {
	var first *wire.Answer
	for _, address := range MetadataAddresses(s.Target.Issuer) {
		request, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		a, err := s.network.Do(ctx, request)
		if err != nil {
			return err
		}
		if first == nil {
			first = a
		}
		var found map[string]any
		err = json.Unmarshal(a.Body, &found)
		if a.Status == http.StatusOK && err == nil && found["issuer"] != nil {
			s.Metadata, s.found = found, address
			return nil
		}
	}
	if s.Endpoint(need.Token) == "" {
		return fmt.Errorf("%s %w: %s answers %s. Correct the issuer, or name authorization_endpoint, token_endpoint and others as endpoints in the target file",
			s.Target.Issuer, ErrNoMetadata, wire.Bare(first.URL), first)
	}
	return nil
}

// Endpoint returns the address of an endpoint, or "". The target comes before the metadata.
func (s *Server) Endpoint(name need.Need) string {
	if named := s.Target.Endpoints[string(name)]; named != "" {
		return named
	}
	published, _ := s.Metadata[string(name)].(string)
	return published
}

// lacks says why a need is not met, or "".
func (s *Server) lacks(n need.Need) string {
	switch {
	case n == need.User && s.Target.User.Username == "":
		return "the target has no person who can sign in"
	case n == need.API && s.Target.API.URL == "":
		return "the target names no api"
	case n == need.OpenID && !s.openID():
		return "the server is no OpenID Provider: it does not list the scope openid"
	case n == need.Backchannel && s.Target.Backchannel == "":
		return "the target has no backchannel address to listen at"
	case n.IsClient() && s.Target.Clients[n] == nil:
		if refusal := s.Refusals[n]; refusal != nil {
			return fmt.Sprintf("the server did not register the client %s: %s", n, refusal)
		}
		role, _ := need.RoleOf(n)
		return fmt.Sprintf("the target has no client %s: %s", n, role.Is)
	case n.IsEndpoint() && s.Endpoint(n) == "":
		return fmt.Sprintf("the server names no %s", n)
	}
	return ""
}

func (s *Server) openID() bool {
	scopes, _ := s.Metadata["scopes_supported"].([]any)
	for _, s := range scopes {
		if s == "openid" {
			return true
		}
	}
	return s.Metadata["id_token_signing_alg_values_supported"] != nil
}

// Reset allows requests again after the server did not answer.
func (s *Server) Reset() { s.network.Reset() }
