package check

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Owns reports whether an address has an origin that the target names: that of the issuer, of an endpoint, or one of
// origins. What the server itself names, in its metadata or on a page, can belong to somebody else.
func (s *Server) Owns(address string) bool {
	origin := wire.Origin(address)
	is := func(named string) bool { return named != "" && wire.Origin(named) == origin }
	if is(s.Target.Issuer) || slices.ContainsFunc(s.Target.Origins, is) {
		return true
	}
	for _, named := range s.Target.Endpoints {
		if is(named) {
			return true
		}
	}
	return false
}

// do sends a request, unless it would take the person, or a secret of the target, to an origin that the target does not
// name.
func (s *Server) do(ctx context.Context, r *http.Request) (*wire.Answer, error) {
	if err := s.refuses(r); err != nil {
		return nil, err
	}
	a, err := s.network.Do(ctx, r)
	if named := s.namedBy(r.URL); named != "" && wire.IsRefused(err) {
		err = wire.Refusedf("the server's metadata names %s: %v", wire.Printable(named), err)
	}
	return a, err
}

// secretEndpoints receive secrets of the target, or codes and refresh tokens.
var secretEndpoints = []need.Need{need.Authorization, need.Token, need.EndSession, need.PushedRequests}

func (s *Server) refuses(r *http.Request) error {
	address := r.URL.String()
	if s.Owns(address) {
		return nil
	}
	for _, name := range secretEndpoints {
		if wire.SamePlace(address, s.Endpoint(name)) || wire.SamePlace(address, s.Alias(name)) {
			return wire.Refusedf("the server's metadata names %s at %s, which is no origin of the target: if the server is "+
				"there, add %[2]s to the target under origins", name, wire.Origin(address))
		}
	}
	if s.carriesSecret(r) {
		return wire.Refusedf("a request to %s would contain a secret of the target, which names no such origin: if the "+
			"server is there, add %[1]s to the target under origins", wire.Origin(address))
	}
	return nil
}

// namedBy returns the member of the metadata that has an address, or "".
func (s *Server) namedBy(u *url.URL) string {
	for _, name := range slices.Sorted(maps.Keys(s.Metadata)) {
		if text, _ := s.Metadata[name].(string); wire.SamePlace(text, u.String()) {
			return name
		}
	}
	return ""
}

// secrets returns the secrets of the target.
func (s *Server) secrets() []string {
	all := []string{s.Target.User.Password, s.Target.InitialAccessToken}
	for _, c := range s.Target.Clients {
		if c != nil {
			all = append(all, c.Secret)
		}
	}
	return slices.DeleteFunc(all, func(secret string) bool { return secret == "" })
}

// short is the length below which a secret can occur in other texts by chance. It is compared with whole values only.
const short = 8

// carriesSecret reports whether a request contains a secret of the target.
func (s *Server) carriesSecret(r *http.Request) bool {
	secrets := s.secrets()
	return carriesAssertion(r) || slices.ContainsFunc(sentTexts(r), func(text string) bool {
		return slices.ContainsFunc(secrets, func(secret string) bool {
			return text == secret || len(secret) >= short && strings.Contains(text, secret)
		})
	})
}

// carriesAssertion reports whether a client authenticates by a JWT. Who receives it could use it at the server.
func carriesAssertion(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	text, _ := io.ReadAll(body)             // the body is a string
	form, _ := url.ParseQuery(string(text)) // what cannot be read has no parameters
	return form.Has("client_assertion")
}

// sentTexts returns the values that a request contains, each as it is written and decoded.
func sentTexts(r *http.Request) []string {
	var all []string
	add := func(text string) {
		all = append(all, text)
		if plain, err := url.QueryUnescape(text); err == nil {
			all = append(all, plain)
		}
	}
	form := func(text string) {
		add(text)
		values, _ := url.ParseQuery(text) // what cannot be read stands in the whole text
		for _, value := range values {
			all = append(all, value...)
		}
	}
	add(r.URL.Path)
	form(r.URL.RawQuery)
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body) // the body is a string
			form(string(text))
		}
	}
	for _, values := range r.Header {
		for _, value := range values {
			add(value)
			_, parameter, _ := strings.Cut(value, " ")
			add(parameter)
		}
	}
	if name, password, is := r.BasicAuth(); is {
		add(name)
		add(password)
	}
	return all
}

// Manages returns an error if a client may not be read or deleted at an address that the server has named.
//
// RFC 7592 §2: the address is that of the client at the server. The request has a token, and one that deletes must not
// reach anything else.
func (s *Server) Manages(address string) error {
	endpoint := s.Endpoint(need.Registration)
	if wire.Origin(address) != wire.Origin(endpoint) {
		return wire.Refusedf("registration_client_uri is at %s, and the registration endpoint at %s", wire.Origin(address),
			wire.Origin(endpoint))
	}
	return nil
}

// WantManaged blocks the check if a client may not be read or deleted at an address.
func (t *T) WantManaged(address string) {
	if err := t.server.Manages(address); err != nil {
		t.Blockedf("%v", err)
	}
}
