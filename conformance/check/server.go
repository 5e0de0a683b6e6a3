package check

import (
	"bytes"
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

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Server is the server under test, with the state that the checks of a run share.
type Server struct {
	Target   *target.Target
	Metadata Metadata            // what the server publishes; empty if it publishes nothing
	Refusals map[need.Need]error // why the target has no such client

	// NewSession returns the cookies with which a check begins to sign in. Usually there are none.
	NewSession func() *browser.Jar
	// IntrospectsOwn says that the client introspection is a client that can introspect only its own tokens.
	IntrospectsOwn bool
	// KeepLog says that the results of checks contain all their exchanges.
	KeepLog bool

	network   *wire.Network
	mask      *wire.Mask
	found     string   // the address of the metadata
	visited   sync.Map // sid of each visit
	deciding  sync.Map // a lock for each client
	invented  sync.Map // the status that each resource answers to an invented token
	nonces    sync.Map // the last nonce for proofs that came from each address
	silence   silence
	signIn    signIn
	memory    memory
	accepting sync.Map // the clients, each with an endpoint that accepted its credentials
	receiver
	documents     documentHost
	registrations registrations
	bare          bare
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
	if n != nil {
		for role, c := range of.Clients {
			if c != nil && c.Certificate != nil {
				n.Identify(string(role), c.Certificate)
			}
		}
		n.Serve(of.Issuer, slices.Concat(slices.Collect(maps.Values(of.Endpoints)), of.Origins,
			[]string{of.API.URL, of.API.Restricted, of.API.Certified})...)
	}
	return &Server{Target: of, Metadata: Metadata{}, Refusals: map[need.Need]error{}, NewSession: browser.NewJar,
		network: n, mask: wire.NewMask()}
}

// Send sends a request outside of a check.
func (s *Server) Send(ctx context.Context, r *http.Request) (*wire.Answer, error) {
	return s.do(ctx, r)
}

// Hide masks the secrets of the target in all reports.
func (s *Server) Hide() {
	s.mask.Show(s.Target.User.Username)
	s.mask.Show(s.Target.Scope)
	s.mask.Show(s.Target.Documents.Scope)
	s.mask.Own("password", s.Target.User.Password)
	s.mask.Own("initial_access_token", s.Target.InitialAccessToken)
	for _, role := range slices.Sorted(maps.Keys(s.Target.Clients)) {
		c := s.Target.Clients[role]
		s.mask.Show(c.ID)
		s.mask.Show(c.Scope)
		s.mask.OwnClient(string(role), c.ID, c.Secret)
		s.mask.Own("registration_access_token", c.RegistrationAT)
	}
	s.mask.Hide("") // it is ready, so that the copies of the checks need not prepare it
}

// Plain returns a text of a report with the secrets of the target masked, in one line that cannot control a terminal.
func (s *Server) Plain(text string) string { return wire.OneLine(s.mask.Clone().Hide(text)) }

// Said describes an error response outside of a check. It masks what the request and the answer have of secrets too,
// and further secrets that are not yet in the target.
func (s *Server) Said(a *wire.Answer, further ...string) string {
	mask := s.mask.Clone()
	for _, secret := range further {
		mask.Add("secret", secret)
	}
	mask.Learn(a)
	return wire.OneLine(mask.Hide(a.Failure()))
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

// Discover reads the metadata: all documents that the server publishes. They may have different members: an OpenID
// Provider can leave out of the one what only the other defines (RFC 8414 §5). Of a member in several, the first
// document counts. A server without metadata can be checked if the target names its endpoints.
func (s *Server) Discover(ctx context.Context) error {
	var first *wire.Answer
	for _, address := range MetadataAddresses(s.Target.Issuer) {
		request, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		a, err := s.do(ctx, request)
		if err != nil {
			return err
		}
		if first == nil {
			first = a
		}
		var found map[string]any
		err = json.Unmarshal(a.Body, &found)
		if a.Status != http.StatusOK || err != nil || found["issuer"] == nil {
			continue
		}
		if s.found == "" {
			s.found = address
		}
		for name, value := range found {
			if s.Metadata[name] == nil {
				s.Metadata[name] = value
			}
		}
	}
	if s.found == "" && s.Endpoint(need.Token) == "" {
		if first.Status == http.StatusBadRequest && strings.HasPrefix(s.Target.Issuer, "http:") &&
			bytes.Contains(first.Body, []byte("HTTPS")) {
			return fmt.Errorf("%s %w: the server speaks TLS there: write the address with https", s.Target.Issuer, ErrNoMetadata)
		}
		return fmt.Errorf("%s %w: %s answers %s. Correct the issuer, or name authorization_endpoint, token_endpoint and "+
			"others as endpoints in the target file",
			s.Target.Issuer, ErrNoMetadata, wire.Bare(first.URL), first)
	}
	return nil
}

// Endpoint returns the address of an endpoint, or "". The target comes before the metadata.
func (s *Server) Endpoint(name need.Need) string {
	if named := s.Target.Endpoints[string(name)]; named != "" {
		return named
	}
	return s.Metadata.Text(string(name))
}

// lacks says why a need is not met, or "".
func (s *Server) lacks(n need.Need) string {
	switch {
	case n == need.User && s.Target.User.Username == "":
		return "the target has no person who can sign in: name one under user"
	case n == need.API && s.Target.API.URL == "":
		return "the target names no api, a resource that accepts the server's access tokens"
	case n == need.Resources && len(s.Target.Resources) < 2:
		return "the target names no resources: two URIs that a request can name in the parameter resource (RFC 8707)"
	case n == need.Documents && s.Target.Documents.Listen == "":
		return "the target has no documents, where the run can serve metadata documents of clients to the server"
	case n == need.OpenID && !s.openID():
		return "the server is no OpenID Provider: its metadata does not list the scope openid"
	case n == need.Backchannel && s.Target.Backchannel == "":
		return "the target has no backchannel, the host:port on this machine at which the server sends logout tokens"
	case n.IsClient() && s.Target.Clients[n] == nil:
		if refusal := s.Refusals[n]; refusal != nil {
			return refusal.Error()
		}
		role, _ := need.RoleOf(n)
		return fmt.Sprintf("the target has no client %s under clients: %s", n, role.Is)
	case n.IsEndpoint() && s.Endpoint(n) == "":
		return fmt.Sprintf("the server's metadata has no %s: if it has one, name it in the target under endpoints", n)
	}
	return ""
}

func (s *Server) openID() bool {
	return s.Metadata.Lists("scopes_supported", "openid") || s.Metadata["id_token_signing_alg_values_supported"] != nil
}

// Reset allows requests again after the server did not answer.
func (s *Server) Reset() { s.network.Reset() }
