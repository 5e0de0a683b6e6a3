package grant

import (
	"context"
	"net/http"

	"github.com/ory/fosite"

	"mandate/provider/clientauth"
	"mandate/provider/framework"
	"mandate/provider/tokens"
)

// adapter is all grants as fosite's token endpoint calls them: with one method for the check of a request,
// and one for the response.
type adapter struct{ p *Grants }

// Session is fosite's session of a token request.
type Session struct {
	framework.Session
	client   framework.Client
	request  Request
	approved approved              // after the check
	Answer   *tokens.TokenResponse // after the response
}

// NewSession returns the session of a token request that a client has sent from a network address. The form of
// the request was read.
func (p *Grants) NewSession(sent *http.Request, by *clientauth.Caller, address string) *Session {
	return &Session{client: framework.NewClient(by.Application, p.rules),
		request: Request{Client: by.Application, Form: sent.PostForm, address: address, by: by, sent: sent}}
}

// Client returns the client, which has authenticated.
func (s *Session) Client() *framework.Client { return &s.client }

// Clone returns a copy. fosite requires this method.
func (s *Session) Clone() fosite.Session { copied := *s; return &copied }

// CanSkipClientAuth returns false: every client must authenticate or identify itself.
func (adapter) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

// CanHandleTokenEndpointRequest reports whether there is a grant for the request.
func (a adapter) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	types := r.GetGrantTypes()
	return len(types) == 1 && a.p.grants[types[0]] != nil
}

// HandleTokenEndpointRequest checks the request.
func (a adapter) HandleTokenEndpointRequest(ctx context.Context, r fosite.AccessRequester) error {
	s := r.GetSession().(*Session)
	var err error
	s.approved, err = a.p.check(ctx, r.GetGrantTypes()[0], &s.request)
	return err
}

// PopulateTokenEndpointResponse issues the tokens.
func (adapter) PopulateTokenEndpointResponse(
	ctx context.Context,
	r fosite.AccessRequester,
	response fosite.AccessResponder,
) error {
	s := r.GetSession().(*Session)
	answer, err := s.approved.issue(ctx)
	if err != nil {
		return err
	}
	answer.TokenType, s.Answer = s.request.bound.TokenType(), answer
	response.SetAccessToken(answer.AccessToken)
	response.SetTokenType(answer.TokenType)
	return nil
}
