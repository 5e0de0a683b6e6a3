package check

import (
	"fmt"
	"net/http"
	"net/url"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// maybeWrong ends a reason that a mistake in the target explains.
const maybeWrong = " of the target may be wrong"

// sender returns the client of the target that authenticated a request by its method and its secret, or nil. It does
// not return a client that was registered for the run: the server made its secret.
func (s *Server) sender(a *wire.Answer) *target.Client {
	sent, err := url.ParseQuery(a.SentForm)
	if err != nil {
		return nil
	}
	for _, role := range need.Roles() { // the first role: two roles may have the same client
		c := s.Target.Clients[role.Name]
		if c == nil || c.Credential() == "" || c.Registration != nil {
			continue
		}
		if text := sent.Get("client_assertion"); text != "" {
			if j, err := jose.Read(text); err == nil && j.Text("sub") == c.ID &&
				(c.Auth == need.PrivateKeyJWT || c.Auth == need.SecretJWT) {
				return c
			}
			continue
		}
		header, form := http.Header{}, url.Values{}
		c.Credentials()(header, form)
		sameID := form.Get("client_id") == "" || form.Get("client_id") == sent.Get("client_id")
		if header.Get("Authorization") == a.SentHeader.Get("Authorization") && sameID &&
			form.Get("client_secret") == sent.Get("client_secret") &&
			header.Get(wire.CertificateOf) == a.SentHeader.Get(wire.CertificateOf) {
			return c
		}
	}
	return nil
}

// noteCredentials keeps that an endpoint accepted the credentials of a client.
func (s *Server) noteCredentials(a *wire.Answer) {
	if a.Method != http.MethodPost || a.Status/100 != 2 {
		return
	}
	if c := s.sender(a); c != nil {
		s.accepting.Store(c.ID+" "+wire.Bare(a.URL), true)
	}
}

// mistaken says which part of the target may be wrong, because a client with its credentials of the target is unknown
// to the server, or returns "". A client that the token endpoint or the same endpoint has accepted in this run is
// known.
func (s *Server) mistaken(a *wire.Answer) string {
	if a.Text("error") != "invalid_client" {
		return ""
	}
	c := s.sender(a)
	if c == nil {
		return ""
	}
	for _, endpoint := range []string{s.Endpoint(need.Token), wire.Bare(a.URL)} {
		if _, accepted := s.accepting.Load(c.ID + " " + endpoint); accepted {
			return ""
		}
	}
	// RFC 10070 §4: an assertion is for the issuer, so that a wrong issuer makes it wrong.
	if published := s.Metadata.Text("issuer"); (c.Auth == need.PrivateKeyJWT || c.Auth == need.SecretJWT) &&
		published != "" && published != c.Audience {
		return fmt.Sprintf("the server does not accept the client %s: issuer or clients.%s.%s%s", c.Role, c.Role,
			c.Credential(), maybeWrong)
	}
	return fmt.Sprintf("the server does not accept the client %s: clients.%s.%s or clients.%s.auth%s", c.Role, c.Role,
		c.Credential(), c.Role, maybeWrong)
}

// Failure describes an error response, and says which part of the target may be wrong.
func (t *T) Failure(a *wire.Answer) string {
	if mistake := t.server.mistaken(a); mistake != "" {
		return a.Failure() + ": " + mistake
	}
	return a.Failure()
}
