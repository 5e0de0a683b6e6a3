package demo

import (
	"net/http"
	"net/url"

	"mandate/templates"
)

// through runs all steps after the authorization response, and begins with its checks.
func (d *codeFlow) through(r *http.Request) error {
	if d.site.secured() {
		d.steps = append(d.steps, d.pushed.step)
	}
	answer, err := d.response(r)
	if err != nil {
		return err
	}
	code := answer.Get("code")
	if code == "" {
		d.last().Text += " The response is an error, so the flow ends here."
		return nil
	}
	tokens, err := d.redeem(r, code)
	if err != nil || tokens.Access == "" {
		return err
	}
	switch {
	case d.site.secured():
		return d.accessBound(r, tokens)
	case d.site.algorithm != "":
		return d.signIn(r, tokens)
	}
	return d.access(r, tokens)
}

func (d *codeFlow) redirected(answer url.Values) {
	step := templates.WalkStep{
		Title: "The site redirects the browser to the server, which redirects it back",
		Text: "In between, the server authenticated you and asked for your consent. The site never sees your password. " +
			"If you approve, it gets an authorization code, which works once and for one minute. For this request the site " +
			"also generated a secret, the code verifier (PKCE), and sent a hash of it, the code_challenge.",
		Request:  message("GET", "/o/authorize/?"+spread(d.client.query(d.visit)), d.host),
		Response: "HTTP/1.1 303 See Other\nLocation: " + d.client.cast.callback() + "\n  ?" + spread(answer),
		Checks: []string{
			"state is the value that the site stored in this browser: this browser started the request.",
			"iss is the server that received the request: the response does not come from another server.",
		},
	}
	if d.site.algorithm != "" {
		step.Text += " The scope openid requests an ID token. The ID token will contain the nonce, a random value."
	}
	if d.site.secured() {
		step.Text = "The browser carries only the client ID and the reference: there is nothing to read and nothing to " +
			"change. In between, the server authenticated you and asked for your consent. The site never sees your password. " +
			"If you approve, it gets an authorization code, which works once, for one minute, and with the key of the DPoP " +
			"proof."
	}
	if d.site.signs() {
		step.Text += " The response is one JWT, which the server has signed. The site must not use it before it has " +
			"verified the signature."
		step.Checks = nil
	}
	d.steps = append(d.steps, step)
}

func (d *codeFlow) redeem(r *http.Request, code string) (tokenAnswer, error) {
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {d.client.cast.callback()},
		"code_verifier": {d.verifier},
	}
	if d.site.secured() {
		return d.redeemBound(r, form)
	}
	step := templates.WalkStep{
		Title: "The site exchanges the code for tokens",
		Text: "The site sends this request directly to the server, not through the browser. It authenticates with its " +
			"client secret and sends the code verifier: an attacker who saw the code has neither. The site gets an access " +
			"token for the access that you approved, and a refresh token, with which it can get the next access token.",
	}
	if d.site.algorithm != "" {
		step.Text += " It also gets the ID token, in which the server states who you are."
	}
	var tokens tokenAnswer
	err := d.exchange(r, step, request{path: "/o/token/", authorization: d.site.basic(), form: form}, &tokens)
	return tokens, err
}

// access continues without OpenID Connect: the site uses the access token, an API
// introspects it, and the site refreshes it.
func (d *codeFlow) access(r *http.Request, tokens tokenAnswer) error {
	err := d.exchange(r, templates.WalkStep{Title: "The site reads the sample API",
		Text: "The access token allows the requests that its scope covers."},
		request{path: "/users/", authorization: "Bearer " + tokens.Access}, nil)
	if err != nil {
		return err
	}
	err = d.exchange(r, templates.WalkStep{
		Title: "An API checks the token",
		Text: "An API cannot read this token, so it asks the server about it: this is token introspection. The " +
			"application Robot is allowed to introspect tokens, and acts as the API here.",
	},
		request{
			path:          "/o/introspect/",
			authorization: d.client.cast.robot.basic(),
			form:          url.Values{"token": {tokens.Access}},
		}, nil)
	if err != nil {
		return err
	}
	return d.exchange(r, templates.WalkStep{
		Title: "The site gets new tokens",
		Text: "A refresh token works once, and the response contains the next one. If it is used again later, the server " +
			"revokes the whole token family: all tokens that come from this authorization grant.",
	},
		request{
			path:          "/o/token/",
			authorization: d.site.basic(),
			form:          url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}},
		}, nil)
}

// signIn continues with OpenID Connect: the site verifies the ID token and requests
// the UserInfo claims.
func (d *codeFlow) signIn(r *http.Request, tokens tokenAnswer) error {
	var keys keySet
	if d.site.algorithm == "RS256" {
		err := d.exchange(r, templates.WalkStep{
			Title: "The site loads the public keys of the server",
			Text: "The server signs with a private key, which is secret. The public key can verify a signature, but cannot " +
				"create one. A site finds the URL of the keys in the server's metadata, which it loads first: " +
				"/o/.well-known/openid-configuration. Metadata and keys are the same for every client, and a site may cache them.",
		},
			request{path: "/o/.well-known/jwks.json"}, &keys)
		if err != nil {
			return err
		}
	}
	token, err := readIDToken(tokens.ID)
	if err != nil {
		return err
	}
	step, err := d.read(token, tokens.Access, keys)
	if err != nil {
		return err
	}
	d.steps = append(d.steps, step)
	var info struct {
		Subject string `json:"sub"`
	}
	err = d.exchange(r, templates.WalkStep{
		Title: "The site requests the claims as they are now: UserInfo",
		Text: "The ID token identifies the person. That of this site also contains the claims of the scopes, because an " +
			"administrator has registered the site; that of another site may not. With the access token, every site can " +
			"request them, and gets them as they are now. The scopes decide which ones: here profile and email. The server " +
			"also knows a phone number and a postal address of alice, but the site did not request the scopes for them.",
		Checks: []string{"sub equals the sub of the ID token: both describe the same person."},
	},
		request{path: "/o/userinfo/", authorization: "Bearer " + tokens.Access}, &info)
	if err != nil {
		return err
	}
	// OIDC Core §5.3.2: claims about another person must not be used.
	if info.Subject != token.says.Subject {
		return refusal("UserInfo and the ID token describe different people.")
	}
	return nil
}
