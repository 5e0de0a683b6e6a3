package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mandate/provider/outbound"
	"mandate/provider/recovered"
)

// Config says how this server is registered at another server.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	RedirectURI  string   // one for this issuer alone
	Scopes       []string // openid among them
	Log          *slog.Logger
}

// Server is another server.
type Server struct {
	config Config
	client *http.Client

	mu    sync.Mutex
	known *discovered   // nil: it was never read
	asked time.Time     // when the last attempt to read the metadata began
	err   error         // of the last attempt
	done  chan struct{} // closed when the running attempt ends; nil: none is running
}

// maxBytes is the size of the largest response that is read.
const maxBytes = 256 << 10

// New makes the client of another server. It sends no request.
func New(config Config, calls *outbound.Client) *Server {
	return &Server{config: config, client: calls.ForLibrary(maxBytes)}
}

// The times of the metadata and the keys. A key that the other server has removed verifies nothing
// after the first of them, and after the second if the server cannot be reached.
const (
	fresh = 5 * time.Minute  // how long they are used without a new request
	kept  = time.Hour        // how long they are used if no request succeeds
	pause = 10 * time.Second // the shortest time between the starts of two attempts
)

// discovered is what the metadata of a server says (OIDC Discovery §3).
type discovered struct {
	provider    *oidc.Provider
	keys        oidc.KeySet // is read once it is needed
	style       oauth2.AuthStyle
	namesItself bool // responses have the parameter iss (RFC 9207 §3)
	endSession  string
	since       time.Time
}

// keySet notes the error of a key set, of which the verifier of an ID token returns the text alone.
type keySet struct {
	oidc.KeySet
	err error
}

func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	k.err = err
	return payload, err
}

// unread returns the error with which the keys could not be read, and nil for a wrong signature, which has no
// cause.
func (k *keySet) unread() error {
	if k.err == nil {
		return nil
	}
	return errors.Unwrap(k.err)
}

// algorithms are those with which an ID token may be signed: with a key pair, and never with the
// client secret or with nothing.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384,
		oidc.PS512, oidc.EdDSA}
}

// discover returns the metadata. All who wait share one request, which does not end with theirs.
func (s *Server) discover(ctx context.Context) (*discovered, error) {
	s.mu.Lock()
	if found := s.known; found != nil && time.Since(found.since) < fresh {
		s.mu.Unlock()
		return found, nil
	}
	s.ask()
	done := s.done
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && time.Since(s.known.since) < kept {
		return s.known, nil
	}
	return nil, &Unreachable{s.err}
}

// ask begins an attempt, unless one is running or the last one began a moment ago: anybody can cause
// attempts.
func (s *Server) ask() {
	if s.done != nil || time.Since(s.asked) < pause {
		return
	}
	s.asked, s.done = time.Now(), make(chan struct{})
	go func() {
		var found *discovered
		err := recovered.Do(s.config.Log, "read the metadata of "+s.config.Issuer, func() (err error) {
			found, err = s.read()
			return err
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
		if err == nil {
			found.since = s.asked
			s.known = found
		}
		close(s.done)
		s.done = nil
	}()
}

func (s *Server) read() (*discovered, error) {
	ctx := oidc.ClientContext(context.Background(), s.client)
	// OIDC Discovery §4.3: it returns an error unless the document has this issuer.
	provider, err := oidc.NewProvider(ctx, s.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %s", s.config.Issuer, clip(withoutURL(err).Error()))
	}
	var document struct {
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Keys          string   `json:"jwks_uri"`
		UserInfo      string   `json:"userinfo_endpoint"`
		EndSession    string   `json:"end_session_endpoint"`
		Methods       []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	err = provider.Claims(&document)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", s.config.Issuer, err)
	}
	for name, endpoint := range map[string]string{"authorization_endpoint": document.Authorization,
		"token_endpoint": document.Token, "jwks_uri": document.Keys} {
		if endpoint == "" {
			return nil, fmt.Errorf("the metadata of %s has no %s", s.config.Issuer, name)
		}
	}
	for _, endpoint := range []string{document.Authorization, document.Token, document.Keys, document.UserInfo,
		document.EndSession} {
		err = s.checkEndpoint(endpoint)
		if err != nil {
			return nil, err
		}
	}
	found := &discovered{provider: provider, namesItself: document.NamesItself, endSession: document.EndSession,
		keys: oidc.NewRemoteKeySet(ctx, document.Keys)}
	found.style, err = authStyle(document.Methods)
	return found, err
}

// checkEndpoint refuses an endpoint that anybody on the way to it could read.
//
// OIDC Discovery §3: the endpoints use https, as the issuer does.
func (s *Server) checkEndpoint(endpoint string) error {
	issuer, err := url.Parse(s.config.Issuer)
	if err != nil || endpoint == "" {
		return err
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || issuer.Scheme == "https") {
		return fmt.Errorf("the metadata of %s has an endpoint that is no https URL", s.config.Issuer)
	}
	return nil
}

// authStyle returns how the client sends its secret.
func authStyle(methods []string) (oauth2.AuthStyle, error) {
	switch {
	// OIDC Discovery §3: client_secret_basic is the default.
	case len(methods) == 0, slices.Contains(methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader, nil
	case slices.Contains(methods, "client_secret_post"):
		return oauth2.AuthStyleInParams, nil
	}
	return 0, errors.New("the other server supports neither client_secret_basic nor client_secret_post")
}
