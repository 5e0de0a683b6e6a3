package possession

import (
	"context"
	"net/http"
	"strings"

	"mandate/provider/dpop"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
)

// challenge is the one for DPoP tokens (RFC 9449 §7.1).
var challenge = `DPoP realm="mandate", algs="` + strings.Join(dpop.Algorithms(), " ") + `"`

// Challenges adds the challenge for DPoP tokens to that of an error about a bearer token.
func Challenges(e *oauth.Error) *oauth.Error {
	both := *e
	both.Challenge += ", " + challenge
	return &both
}

// IsScheme reports whether a scheme of the header Authorization announces an access token.
//
// RFC 9110 §11.1: a scheme has no case.
func IsScheme(scheme string) bool {
	return strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "DPoP")
}

// CheckPresented checks a request that presents an access token to an endpoint of this server.
// The binding of the token decides what is checked, and never what the request sends.
func (c *Checks) CheckPresented(ctx context.Context, r *http.Request, b Binding, scheme, text string) error {
	proves := strings.EqualFold(scheme, "DPoP")
	switch member, thumbprint := b.split(); {
	case member == memberKey && !proves:
		// RFC 9449 §7.1: a token that is bound to a key is refused without a proof.
		return refuse("invalid_token", "The access token is bound to a key: send it with the scheme DPoP, and a DPoP proof.")
	case member == memberKey:
		proof, err := c.verify(r, text, thumbprint)
		if err == nil {
			err = c.useNow(ctx, &proof)
		}
		if e, ok := err.(*oauth.Error); ok && e.Status == http.StatusBadRequest {
			return refuse(e.Code, e.Description)
		}
		return err
	case proves:
		// RFC 9449 §7.1: the proof says nothing about a token that is not bound to its key.
		return refuse("invalid_token", "The access token is not bound to a key: send it with the scheme Bearer.")
	case member == memberCertificate:
		shown, err := mtls.Of(ctx)
		// RFC 8705 §3: the certificate is the one that the token is bound to.
		if err != nil || shown == nil || shown.Thumbprint() != thumbprint {
			return oauth.InvalidToken("The access token is bound to a client certificate, and the request has another one or " +
				"none.")
		}
	case b != "":
		return oauth.InvalidToken("The access token is bound to something that this server does not know.")
	}
	return nil
}

// useNow uses a proof, even if the client has gone.
func (c *Checks) useNow(ctx context.Context, proof *Proof) error {
	err := c.Use(ctx, proof)
	if proof.Key != "" {
		ctx, stop := Finish(ctx)
		defer stop()
		_ = c.Use(ctx, proof) // the first error tells more: this request may have used the proof itself
	}
	return err
}

// refuse returns the error for a token that is bound to a key.
func refuse(code, text string) *oauth.Error {
	return &oauth.Error{Status: http.StatusUnauthorized, Code: code, Description: text,
		Challenge: challenge + `, error="` + code + `", error_description="` + text + `"`}
}
