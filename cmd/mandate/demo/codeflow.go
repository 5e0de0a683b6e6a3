package demo

import (
	"net/http"
	"net/url"

	"mandate/templates"
)

// codeFlow is what follows on one callback, step by step.
type codeFlow struct {
	*visit
	client *Sites
	host   string
	steps  []templates.WalkStep
}

// tokenAnswer is the answer of the token endpoint (RFC 6749 §5.1).
type tokenAnswer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
}

// through goes from the answer, which has been checked, to its end.
func (d *codeFlow) through(r *http.Request) error {
	answer := r.URL.Query()
	d.redirected(answer)
	code := answer.Get("code")
	if code == "" {
		d.steps[0].Text += " The answer is a refusal, and the walk ends here."
		return nil
	}
	tokens, err := d.redeem(r, code)
	if err != nil || tokens.Access == "" {
		return err
	}
	if d.site.algorithm != "" {
		return d.signIn(r, tokens)
	}
	return d.access(r, tokens)
}

func (d *codeFlow) redirected(answer url.Values) {
	step := templates.WalkStep{
		Title:    "The site sends the browser to the server, which sends it back",
		Text:     "In between, the server asked who you are and whether you approve. The site sees no password: what it gets, if you do, is a code, which is good once and for a minute. It has also made up a secret for this one time, the code verifier, and sends a hash of it along, the code_challenge.",
		Request:  message("GET", "/o/authorize/?"+spread(d.client.parameters(d.visit)), d.host),
		Response: "HTTP/1.1 303 See Other\nLocation: " + d.client.cast.callback() + "\n  ?" + spread(answer),
		Checks: []string{
			"state is the one that this browser set out with: nobody else began this.",
			"iss is the server that was asked: no other one has slipped in an answer of its own.",
		},
	}
	if d.site.algorithm != "" {
		step.Text += " The scope openid asks who you are. The nonce, a random word, will come back in what the server says of it."
	}
	d.steps = append(d.steps, step)
}

func (d *codeFlow) redeem(r *http.Request, code string) (tokenAnswer, error) {
	step := templates.WalkStep{Title: "The site exchanges the code for tokens",
		Text: "This goes from the site to the server, without the browser. The site shows its client secret and the code verifier: whoever has seen the code pass by has neither. It gets an access token, the key to what you have allowed, and a refresh token, for the next key when this one ends."}
	if d.site.algorithm != "" {
		step.Text += " With them comes the ID token, the server's signed word on who you are."
	}
	var tokens tokenAnswer
	err := d.exchange(r, step, "/o/token/", d.site.basic(),
		url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {d.client.cast.callback()}, "code_verifier": {d.verifier}}, &tokens)
	return tokens, err
}

// access goes on without OpenID Connect: to what a token is worth, and what it
// opens.
func (d *codeFlow) access(r *http.Request, tokens tokenAnswer) error {
	err := d.exchange(r, templates.WalkStep{Title: "The site reads the sample API",
		Text: "The access token opens what its scope allows."},
		"/users/", "Bearer "+tokens.Access, nil, nil)
	if err != nil {
		return err
	}
	err = d.exchange(r, templates.WalkStep{Title: "An API asks what the token is worth",
		Text: "To an API the token is a word without meaning, so it asks the server: this is introspection. The application Robot may do that, and plays the API here."},
		"/o/introspect/", d.client.cast.robot.basic(), url.Values{"token": {tokens.Access}}, nil)
	if err != nil {
		return err
	}
	return d.exchange(r, templates.WalkStep{Title: "The site gets new tokens",
		Text: "A refresh token works once and brings its successor. Should it ever come back, everything from this approval is revoked."},
		"/o/token/", d.site.basic(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}}, nil)
}

// signIn goes on with OpenID Connect: to who it is, and what may be known of
// them.
func (d *codeFlow) signIn(r *http.Request, tokens tokenAnswer) error {
	var keys keySet
	if d.site.algorithm == "RS256" {
		err := d.exchange(r, templates.WalkStep{Title: "The site fetches the public keys of the server",
			Text: "The server signs with a private key, which it shows to nobody. The public key to it can check a signature, and make none. Where the keys are stands in the server's description of itself, with which a site begins: /o/.well-known/openid-configuration. Both are the same for everybody, and a site may keep them for a while."},
			"/o/.well-known/jwks.json", "", nil, &keys)
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
	err = d.exchange(r, templates.WalkStep{Title: "The site asks for more: UserInfo",
		Text:   "The ID token says who it is, and little else. What the site may know besides, it asks with the access token. The scopes say how much: here profile and email. Of alice the server also knows a phone number and a postal address, but no scope asked for them.",
		Checks: []string{"sub is that of the ID token: both speak of the same person."}},
		"/o/userinfo/", "Bearer "+tokens.Access, nil, &info)
	if err != nil {
		return err
	}
	// OIDC Core §5.3.2: claims of somebody else are not to be used.
	if info.Subject != token.says.Subject {
		return refusal("UserInfo speaks of somebody else than the ID token.")
	}
	return nil
}
