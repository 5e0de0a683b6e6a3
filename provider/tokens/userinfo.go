package tokens

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/claims"
	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/possession"
)

// UserInfo is the response of the UserInfo endpoint: the claims, or a JWT that contains
// them.
type UserInfo struct {
	Claims map[string]any
	Signed string
}

// UserInfo returns the claims about the person whom an access token was issued for
// (OIDC Core §5.3). The second result is the client id of the token, as far as it is
// known.
func (p *Tokens) UserInfo(ctx context.Context, r *http.Request, address string) (*UserInfo, string, error) {
	scheme, text, err := userInfoToken(r)
	if err != nil {
		return nil, "", p.clients.UseUnreadProof(clientauth.From(ctx, address), &clientauth.Caller{}, r, err, p.proofs)
	}
	token, err := p.LiveToken(ctx, text)
	if errors.Is(err, oauth.ErrNotFound) || err == nil && token.Refresh {
		return nil, "", invalidToken()
	}
	if err != nil {
		return nil, "", err
	}
	err = p.proofs.CheckPresented(ctx, r, possession.Of(token.Token), scheme, text)
	if err != nil {
		return nil, token.ClientID, err
	}
	// OIDC Core §5.3: the claims are about the person who has signed in.
	if token.UserID == nil {
		return nil, token.ClientID,
			oauth.InvalidToken("The application got this access token for itself, so it is about no person: request one with " +
				"the authorization code grant.")
	}
	if !token.audience.HasServer() {
		return nil, token.ClientID, otherResource()
	}
	scopes := strings.Fields(token.Scope)
	if !slices.Contains(scopes, "openid") {
		return nil, token.ClientID,
			&oauth.Error{Status: http.StatusForbidden, Code: "insufficient_scope",
				Description: "The access token does not have the scope openid.",
				Challenge: possession.Of(token.Token).TokenType() +
					` realm="mandate", error="insufficient_scope", scope="openid"`}
	}
	a, err := p.clients.Client(ctx, token.ClientID)
	if err != nil {
		return nil, token.ClientID, oauth.Stored(err)
	}
	info := jose.Claims{"sub": p.Subject(oauth.Deref(token.Sector), *token.UserID)}
	asked, err := readStoredClaims(p.rules.AllowedScopes(a), oauth.Deref(token.Claims))
	if err != nil {
		return nil, token.ClientID, err
	}
	own, err := ownOf(a, claims.UserInfo, scopes)
	if err != nil {
		return nil, token.ClientID, err
	}
	err = p.addClaims(ctx, info, own, *token.UserID, scopes, asked.UserInfo)
	if err != nil {
		return nil, token.ClientID, err
	}
	if a.UserInfoAlgorithm == "" {
		return &UserInfo{Claims: info}, token.ClientID, nil
	}
	// OIDC Core §5.3.2: a signed response has iss and aud.
	info["iss"], info["aud"] = p.config.Issuer, a.ClientID
	signed, err := p.Sign(ctx, a, a.UserInfoAlgorithm, "JWT", info)
	return &UserInfo{Signed: signed}, token.ClientID, err
}

// userInfoToken returns the access token from the header or from the form, and the scheme by
// which it was sent. A request with more than one is refused (RFC 6750 §2).
func userInfoToken(r *http.Request) (scheme, text string, err error) {
	header := r.Header.Values("Authorization")
	form := r.PostForm["access_token"]
	switch {
	case r.URL.Query().Has("access_token"):
		// RFC 9700 §4.3.2
		return "", "", bearerProblem("The access token must not be in the query of the URL.")
	case len(header)+len(form) > 1:
		return "", "", bearerProblem("The request has more than one access token.")
	case len(form) == 1:
		return "Bearer", form[0], nil
	case len(header) == 0:
		return "", "", possession.Challenges(oauth.NoToken("There is no access token."))
	}
	scheme, text, _ = strings.Cut(header[0], " ")
	if !possession.IsScheme(scheme) {
		return "", "", possession.Challenges(
			oauth.NoToken("The Authorization header uses neither the scheme Bearer nor DPoP."))
	}
	return scheme, strings.TrimLeft(text, " "), nil
}

func bearerProblem(text string) *oauth.Error {
	return &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request", Description: text,
		Challenge: `Bearer realm="mandate", error="invalid_request", error_description="` + text + `"`}
}
