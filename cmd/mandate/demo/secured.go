package demo

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/templates"
)

// The walk with an application that has a profile (FAPI 2.0 Security Profile, FAPI 2.0 Message
// Signing). What is the same without a profile is in codeflow.go.

// push sends the authorization request to the server itself (RFC 9126 §2).
func (d *codeFlow) push(r *http.Request) error {
	step := templates.WalkStep{Title: "The site pushes its authorization request",
		Text: "The site sends the parameters directly to the server, not through the browser, and authenticates first. " +
			"Nobody who controls the browser can read or change them. The server checks the whole request, stores it, and " +
			"returns a reference, the request_uri, which works for this site only and expires soon."}
	form := d.client.parameters(d.visit)
	if d.site.signs() {
		object, shown, err := d.requestObject(form)
		if err != nil {
			return err
		}
		step.Text += " All parameters are in a signed request object."
		step.Tokens = append(step.Tokens, shown)
		form = url.Values{"client_id": {d.site.id}, "request": {object}}
	}
	var answer struct {
		RequestURI string `json:"request_uri"`
	}
	err := d.authenticated(r, step, templates.WalkToken{Clause: "RFC 9449 §10.1; FAPI 2.0 Security Profile §5.3.2.1",
		Text: "It proves to the server that the site has a second key, and binds the authorization code to this key from " +
			"the beginning. Without it, the code would be bound to no key: a thief of the code who can also authenticate " +
			"could exchange it with another key."},
		"/o/par/", form, &answer)
	if err != nil {
		return err
	}
	if answer.RequestURI == "" {
		return refusal("The server refused the pushed request:\n" + d.last().Response)
	}
	d.pushed = pushed{uri: answer.RequestURI, step: *d.last()}
	return nil
}

// authenticated sends a form with a client assertion and a DPoP proof. about says what the proof is
// for.
func (d *codeFlow) authenticated(r *http.Request, step templates.WalkStep, about templates.WalkToken, path string,
	form url.Values, into any) error {
	assertion, shown, err := d.assertion()
	if err != nil {
		return err
	}
	form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	form.Set("client_assertion", assertion)
	about.Title = "The DPoP proof"
	sent := request{path: path, form: form}
	proof, shownProof, err := d.proof(about, d.site.keys.proof, sent, "")
	if err != nil {
		return err
	}
	sent.proof, step.Tokens = proof, append(step.Tokens, shown, shownProof)
	return d.exchange(r, step, sent, into)
}

// redeemBound exchanges the code for tokens that are bound to a key.
func (d *codeFlow) redeemBound(r *http.Request, form url.Values) (tokenAnswer, error) {
	var tokens tokenAnswer
	err := d.authenticated(r, templates.WalkStep{Title: "The site exchanges the code for tokens",
		Text: "The site sends this request directly to the server. It authenticates with a new client assertion, sends the " +
			"code verifier, and proves that it has the key to which the code is bound. An attacker who saw the code has none " +
			"of these. The access token that it gets is bound to the key too."},
		templates.WalkToken{Clause: "RFC 9449 §5, §10; FAPI 2.0 Security Profile §5.3.2.1",
			Text: "It proves to the server that the site has the key to which the code is bound, and the server binds the " +
				"access token to it. Without it, the server refuses the request with invalid_dpop_proof, because this site gets " +
				"no bearer tokens."},
		"/o/token/", form, &tokens)
	if err != nil || tokens.Access == "" {
		return tokens, err
	}
	// RFC 9449 §5: a client that needs a bound token does not use another one.
	if tokens.Type != "DPoP" {
		return tokens, refusal("The site refuses the access token: its token_type is not DPoP.")
	}
	d.last().Checks = []string{"token_type is DPoP: whoever does not have the key cannot use the access token."}
	return tokens, nil
}

// accessBound continues with the bound access token: an API introspects it, the site uses it, a
// thief cannot use it, and the site refreshes it.
func (d *codeFlow) accessBound(r *http.Request, tokens tokenAnswer) error {
	err := d.introspectBound(r, tokens.Access)
	if err != nil {
		return err
	}
	call := request{path: "/users/", authorization: "DPoP " + tokens.Access}
	step := templates.WalkStep{Title: "The site reads the sample API",
		Text: "The site sends the access token with the scheme DPoP instead of Bearer, and a new proof for this request."}
	proof, shown, err := d.proof(templates.WalkToken{Title: "The DPoP proof", Clause: "RFC 9449 §7.1, §4.3",
		Text: "It proves to the API that the sender of this request has the key to which the access token is bound: ath is " +
			"the hash of this token. Without it, the API refuses the token."}, d.site.keys.proof, call, tokens.Access)
	if err != nil {
		return err
	}
	call.proof, step.Tokens = proof, []templates.WalkToken{shown}
	err = d.exchange(r, step, call, nil)
	if err == nil {
		err = d.thieves(r, call, tokens.Access)
	}
	if err != nil {
		return err
	}
	return d.authenticated(r, templates.WalkStep{Title: "The site gets a new access token",
		Text: "The refresh token needs a client assertion and a proof too. It stays the same: a stolen one is useless " +
			"without the keys, and a site that loses a response does not lose its access (FAPI 2.0 Security Profile §5.3.2.1)."},
		templates.WalkToken{Clause: "RFC 9449 §5; FAPI 2.0 Security Profile §5.3.2.1",
			Text: "It proves to the server that the site has the key, and the server binds the next access token to it. " +
				"Without it, the server refuses the request with invalid_dpop_proof."},
		"/o/token/", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}}, nil)
}

// thieves sends the requests of somebody who has copied a call of the site. The API must refuse
// each of them.
func (d *codeFlow) thieves(r *http.Request, copied request, token string) error {
	// RFC 9449 §7.2: a bound token is not accepted as a bearer token.
	bearer := request{path: copied.path, authorization: "Bearer " + token}
	err := d.stolen(r, templates.WalkStep{Title: "A thief sends the access token as a bearer token",
		Text: "The thief has copied the token, and sends it as if it needed no proof. The API sees that the token is bound " +
			"to a key (cnf), and refuses it. The challenge in WWW-Authenticate names the error, and the scheme DPoP. (RFC " +
			"9449 §7.2)"}, bearer)
	if err != nil {
		return err
	}
	// RFC 9449 §7.1: the key of the proof is the one to which the token is bound.
	own := request{path: copied.path, authorization: copied.authorization}
	proof, shown, err := d.proof(templates.WalkToken{Title: "The DPoP proof of the thief", Clause: "RFC 9449 §7.1, §4.3",
		Text: "It proves to the API that the sender has this key, and no more: the token is bound to another one. Without " +
			"the private key of the site nobody can make the right proof."}, d.site.keys.thief, own, token)
	if err != nil {
		return err
	}
	own.proof = proof
	err = d.stolen(r, templates.WalkStep{Title: "A thief makes a proof with another key",
		Text: "The thief signs a proof with a key of their own. The signature, the method, the URL and ath are right. The " +
			"API refuses it, because the thumbprint of the key is not the jkt of the token.",
		Tokens: []templates.WalkToken{shown}}, own)
	if err != nil {
		return err
	}
	// RFC 9449 §11.1: a proof is accepted once.
	return d.stolen(r, templates.WalkStep{Title: "A thief repeats the request of the site",
		Text: "The thief has copied the token and the proof, and sends both again. The API has seen the jti of this proof, " +
			"and accepts it only once. A proof that was never sent would be useless after about a minute. (RFC 9449 §11.1)"},
		copied)
}

// stolen sends a request that the API must refuse.
func (d *codeFlow) stolen(r *http.Request, step templates.WalkStep, sent request) error {
	err := d.exchange(r, step, sent, nil)
	if err == nil && !strings.HasPrefix(d.last().Response, "HTTP/1.1 401 ") {
		return refusal("The sample API did not refuse a stolen access token:\n" + d.last().Response)
	}
	return err
}
