package authorize

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Reason is the reason for which a person who has a session must sign in again.
type Reason string

// The reasons, with the most specific one first. Each reason is also a parameter value in a
// URL, so it does not name an account.
const (
	OtherAccount  Reason = "account" // the request names another account
	ChooseAccount Reason = "choose"  // prompt=select_account
	LoginRequest  Reason = "request" // prompt=login or max_age=0
	LoginTooOld   Reason = "age"     // the person's login is older than max_age
)

const (
	maxNonce = 1024
	// maxClaims is the largest size of the claims parameter, in bytes.
	maxClaims = 8192
)

// readOpenID reads and checks the parameters of OpenID Connect into a.OpenID.
func (p *Authorizations) readOpenID(ctx context.Context, a *Authorization) error {
	form := a.parameters
	if form.Has("registration") {
		return oauth.Refuse("registration_not_supported", "The registration parameter is not supported.")
	}
	a.OpenID.nonce, a.OpenID.loginHint = form.Get("nonce"), form.Get("login_hint")
	if len(a.OpenID.nonce) > maxNonce {
		return oauth.Refuse("invalid_request", "nonce is longer than %d bytes.", oauth.Own(maxNonce))
	}
	err := a.OpenID.readPrompt(form)
	if err != nil {
		return err
	}
	err = a.OpenID.readClaims(form, p.rules.AllowedScopes(a.Application), p.config.ACRValues)
	if err != nil {
		return err
	}
	return p.readHint(ctx, a)
}

// readPrompt reads and checks prompt and display of a request. It returns nil, or
// the error for the client.
func (o *OpenIDRequest) readPrompt(form url.Values) error {
	o.prompt = strings.Fields(form.Get("prompt"))
	for _, value := range o.prompt {
		switch value {
		case "none", "login", "consent", "select_account":
		default:
			return oauth.Refuse("invalid_request", "prompt contains the value %q: the supported values are none, login, "+
				"consent and select_account.", oauth.Clip(value, 40))
		}
	}
	// OIDC Core §3.1.2.1: none must be the only value.
	if slices.Contains(o.prompt, "none") && len(o.prompt) > 1 {
		return oauth.Refuse("invalid_request", "prompt=none must not be combined with another value.")
	}
	if display := form.Get("display"); display != "" &&
		!slices.Contains([]string{"page", "popup", "touch", "wap"}, display) {
		return oauth.Refuse("invalid_request", "display must be page, popup, touch or wap.")
	}
	return nil
}

// readClaims reads and checks the claims parameter (OIDC Core §5.5). This is a JSON object with
// the members userinfo and id_token, whose members are null or objects. Other members are
// ignored, as are claims outside the allowed scopes. It returns nil, or the error for
// the client.
func (o *OpenIDRequest) readClaims(form url.Values, allowed, acrs []string) error {
	text := form.Get("claims")
	if text == "" {
		return nil
	}
	if len(text) > maxClaims {
		return oauth.Refuse("invalid_request", "claims is longer than %d bytes.", oauth.Own(maxClaims))
	}
	var asked tokens.ClaimsRequest
	err := json.Unmarshal([]byte(text), &asked)
	if err != nil {
		return oauth.Refuse("invalid_request", "claims must be a JSON object with the members userinfo and id_token.")
	}
	level, sub := asked.IDToken["acr"], asked.IDToken["sub"]
	asked = asked.Limit(allowed)
	var kept strings.Builder
	plain := json.NewEncoder(&kept)
	plain.SetEscapeHTML(false) // escaping would replace one byte by six
	err = plain.Encode(asked)
	if err != nil {
		return err
	}
	o.claims, o.claimScopes = strings.TrimSpace(kept.String()), asked.Scopes()
	err = o.readACRClaim(level, acrs)
	if err != nil {
		return err
	}
	if sub != nil {
		return o.readSubjects(*sub)
	}
	return nil
}

// readSubjects reads the values of the claim sub for which the request asks.
//
// OIDC Core §5.5.1: the response is about one of the requested subjects, or it is an error
// (§3.1.2.2).
func (o *OpenIDRequest) readSubjects(asked tokens.ClaimRequest) error {
	for _, raw := range asked.Requested() {
		var subject string
		err := json.Unmarshal(raw, &subject)
		if err != nil || subject == "" {
			return oauth.Refuse("invalid_request", "claims requests a sub that is not a string, or is empty.")
		}
		o.Subjects = append(o.Subjects, subject)
	}
	return nil
}

// accepts reports whether the request accepts this subject.
func (o *OpenIDRequest) accepts(subject string) bool {
	return len(o.Subjects) == 0 || slices.Contains(o.Subjects, subject)
}

// readHint reads id_token_hint. It checks that the ID token was issued to this client, and
// records its subject as the only acceptable one.
func (p *Authorizations) readHint(ctx context.Context, a *Authorization) error {
	text := a.parameters.Get("id_token_hint")
	if text == "" {
		return nil
	}
	claims, err := p.tokens.Hint(ctx, text)
	if err != nil {
		return err
	}
	if !slices.Contains(claims.Audience(), a.Application.ClientID) {
		return oauth.Refuse("invalid_request", "id_token_hint was issued to another client.")
	}
	subject := claims.Text("sub")
	if !a.OpenID.accepts(subject) {
		return oauth.Refuse("invalid_request", "The sub of id_token_hint differs from the sub that claims requests.")
	}
	a.OpenID.Subjects = []string{subject}
	return nil
}

// LoginProofLife is how long a browser may take to return from the login page to the request
// that needed the login.
const LoginProofLife = time.Minute

// loginPurpose returns the name under which a LoginProof value is sealed. The name is specific to one
// session and to one authorization request, so the value is valid for these two only.
func loginPurpose(sessionDigest string, request url.Values) string {
	return "login " + sessionDigest + " " + seal.Digest(request.Encode())
}

// LoginProof returns a value that proves that the person has just signed in for this request. The
// browser keeps it while it returns from the login page. Without it, prompt=login would ask
// for a login again and again. The value is not part of a URL, so nobody can copy it from
// there.
func (p *Authorizations) LoginProof(in *people.SignIn, request url.Values) string {
	return p.tickets.Seal([]byte(strconv.FormatInt(oauth.Now(), 10)), loginPurpose(seal.Digest(in.Session), request))
}

// RenewLoginProof returns a value like LoginProof for a session that has become stronger on the way
// to this request, or "" if kept is not the value of LoginProof for the session as it was. The person
// may have needed some time to show or to add the second factor.
func (p *Authorizations) RenewLoginProof(kept string, was *storage.SignedIn, in *people.SignIn,
	request url.Values) string {
	text, err := p.tickets.Open(kept, loginPurpose(was.Session.Digest, request))
	if err != nil {
		return ""
	}
	at, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || oauth.Now()-at > oauth.Seconds(people.SignInLife) {
		return ""
	}
	return p.LoginProof(in, request)
}

// SetLoginProof records the value of LoginProof that the browser kept.
func (a *Authorization) SetLoginProof(loginProof string) { a.OpenID.loginProof = loginProof }

// justSignedIn reports whether the person has just signed in for this request.
func (p *Authorizations) justSignedIn(a *Authorization, s *storage.SignedIn) bool {
	text, err := p.tickets.Open(a.OpenID.loginProof, loginPurpose(s.Session.Digest, a.sent))
	if err != nil {
		return false
	}
	at, err := strconv.ParseInt(string(text), 10, 64)
	return err == nil && oauth.Now()-at <= oauth.Seconds(LoginProofLife)
}

// whyLogin returns why the person who is signed in must sign in again, or "" if they need not.
func (p *Authorizations) whyLogin(a *Authorization, s *storage.SignedIn) Reason {
	o := a.OpenID
	switch {
	case !o.accepts(p.tokens.Subject(a.Application.Sector, s.User.ID)):
		// OIDC Core §3.1.2.1: the request names another person than the one who is signed in.
		return OtherAccount
	case p.justSignedIn(a, s):
		return ""
	case slices.Contains(o.prompt, "select_account"):
		return ChooseAccount
	case slices.Contains(o.prompt, "login"), o.maxAge == 0:
		// OIDC Core §3.1.2.1: max_age=0 is the same as prompt=login.
		return LoginRequest
	case o.maxAge > 0 && oauth.Now()-s.Session.AuthTime > o.maxAge:
		return LoginTooOld
	}
	return ""
}

// Silent reports whether the request has prompt=none, which forbids every page for the person
// (OIDC Core §3.1.2.1).
func (a *Authorization) Silent() bool { return slices.Contains(a.OpenID.prompt, "none") }

// LoginHint returns the name that the login page suggests.
func (a *Authorization) LoginHint() string { return oauth.Clip(a.OpenID.loginHint, 254) }

// UILocales returns the languages in which the person wants to read the pages, in the order of
// preference, with spaces between them (OIDC Core §3.1.2.1).
func (a *Authorization) UILocales() string { return oauth.Clip(a.parameters.Get("ui_locales"), 200) }

// LoginRequired returns the error for a request with prompt=none that needs a login (OIDC Core
// §3.1.2.6).
func LoginRequired() *oauth.Error {
	return oauth.Refuse("login_required", "The person must sign in, which prompt=none forbids.")
}
