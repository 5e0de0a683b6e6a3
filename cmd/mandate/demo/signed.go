package demo

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"mandate/provider/jose"
	"mandate/templates"
)

// response returns the parameters of the authorization response, after the checks of the site.
func (d *codeFlow) response(r *http.Request) (url.Values, error) {
	answer := r.URL.Query()
	if d.site.signs() {
		return d.signedResponse(r, answer)
	}
	err := d.client.check(d.visit, answer)
	if err == nil {
		d.redirected(answer)
	}
	return answer, err
}

// signedResponse verifies a signed authorization response (JARM §2.4), and returns its parameters.
func (d *codeFlow) signedResponse(r *http.Request, answer url.Values) (url.Values, error) {
	d.redirected(answer)
	err := d.exchange(r, templates.WalkStep{Title: "The site loads the public keys of the server",
		Text: "They verify what the server signs. Their URL is in the metadata of the server, and a site may cache both."},
		request{path: "/o/.well-known/jwks.json"}, &d.published)
	if err != nil {
		return nil, err
	}
	text := answer.Get("response")
	inside, err := d.readResponse(text)
	if err != nil {
		return nil, err
	}
	d.steps = append(d.steps, templates.WalkStep{Title: "The site verifies the signed response",
		Text: "Only after these checks does the site use what the response contains.",
		Tokens: []templates.WalkToken{
			decoded(templates.WalkToken{Title: "The signed response", Clause: "JARM §2.1, §2.4; FAPI 2.0 Message Signing §5.4.1",
				Text: "It proves to the site that this server has made the response, for this site, a moment ago. Without it, " +
					"whoever controls the browser could put other parameters into the redirect, so the server sends this site no " +
					"unsigned response."}, text,
				[]templates.Fact{
					{Name: "iss", Value: "The issuer: this server."},
					{Name: "aud", Value: "The audience: the client ID of the site."},
					{Name: "exp", Value: "When the response expires."},
					{Name: "code", Value: "The authorization code, which works once."},
					{Name: "error", Value: "Why there is no authorization code."},
					{Name: "state", Value: "The random value that the site sent with its request."},
				})},
		Checks: []string{
			"The signature is valid for the public key with this kid, and alg is " + serverAlgorithm + ", which is registered.",
			"aud is this site, and exp is in the future.",
			"iss is the server that received the request.",
			"state is the value that the site stored in this browser.",
		}})
	return inside, nil
}

// readResponse returns the parameters of a signed authorization response that is for this visit.
func (d *codeFlow) readResponse(text string) (url.Values, error) {
	claims, err := d.verify(text, d.site.id, "", "jwt")
	if err != nil {
		return nil, err
	}
	end, _ := claims.Time("exp")
	if time.Now().Unix() >= end {
		return nil, refusal("The site refuses the response, because it has expired.")
	}
	inside := url.Values{}
	for name := range claims {
		inside.Set(name, claims.Text(name))
	}
	return inside, d.client.check(d.visit, inside)
}

// introspectBound asks the server about a bound access token, as an API does.
func (d *codeFlow) introspectBound(r *http.Request, token string) error {
	step := templates.WalkStep{Title: "An API asks which key the token is bound to",
		Text: "The application Robot acts as the API. In the response, jkt of cnf is the thumbprint of the key that signed " +
			"the DPoP proof of the token request."}
	sent := request{path: "/o/introspect/", authorization: d.client.cast.robot.basic(), form: url.Values{"token": {token}}}
	var answer introspected
	if !d.site.signs() {
		err := d.exchange(r, step, sent, &answer)
		if err != nil {
			return err
		}
	} else {
		sent.accept = "application/token-introspection+jwt"
		step.Text += " With Accept, the API asks for a response that the server signs."
		var text string
		err := d.exchange(r, step, sent, &text)
		if err != nil {
			return err
		}
		claims, err := d.verify(text, d.client.cast.robot.id, "token-introspection+jwt")
		if err != nil {
			return err
		}
		answer.read(claims)
		d.last().Tokens = []templates.WalkToken{
			decoded(templates.WalkToken{Title: "The signed introspection response",
				Clause: "RFC 9701 §5; FAPI 2.0 Message Signing §5.5.1",
				Text: "It proves to the API, and later to others, that this server has said this about the token, to this API. " +
					"Without it, the API gets the same as JSON, which nobody can verify after the connection has ended."}, text,
				[]templates.Fact{
					{Name: "typ", Value: "An introspection response, and no other kind of JWT: it can never be used as an access " +
						"token."},
					{Name: "aud", Value: "The API that has asked."},
					{Name: "token_introspection", Value: "What the response would contain without a signature."},
				})}
	}
	if answer.Confirmation.Key != d.site.keys.proof.public.Thumbprint() {
		return refusal("The access token is not bound to the key of the site.")
	}
	return nil
}

// introspected is what the walk needs of an introspection response (RFC 7662 §2.2).
type introspected struct {
	Confirmation struct {
		Key string `json:"jkt"`
	} `json:"cnf"`
}

// read takes the members from the claims of a signed response (RFC 9701 §5).
func (i *introspected) read(claims jose.Claims) {
	inside, _ := claims["token_introspection"].(map[string]any)
	bound, _ := inside["cnf"].(map[string]any)
	i.Confirmation.Key, _ = bound["jkt"].(string)
}

// verify returns the claims of a JWT that the server has signed for a client.
func (d *codeFlow) verify(text, client string, kinds ...string) (jose.Claims, error) {
	v := jose.Verifier{Algorithms: []string{serverAlgorithm}, Types: kinds,
		Keys: func(h jose.Header, _ []byte) ([]any, error) { return d.published.For(h), nil }}
	raw, err := v.Verify(text)
	if err != nil {
		return nil, refusal("A message of the server is not signed with a key of the server.")
	}
	claims, err := jose.ParseClaims(raw)
	if err != nil || claims.Text("iss") != d.client.cast.issuer || !slices.Equal(claims.Audience(), []string{client}) {
		return nil, refusal("A message of the server is for another client, or of another server.")
	}
	return claims, nil
}
