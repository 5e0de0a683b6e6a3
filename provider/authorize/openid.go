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
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// openIDRequest is what OpenID Connect adds to an authorization request (OIDC
// Core §3.1.2.1).
type OpenIDRequest struct {
	nonce     string
	Prompt    []string
	MaxAge    int64 // seconds; -1 where it was not sent
	loginHint string
	Subjects  []string // one of whom the person must be, by the hint or by claims; none: anybody
	Claims    string   // the claims parameter, checked
	Told      []string // the scopes that stand for its claims
	formPost  bool
	// wayBack is what the browser kept of a login for this request.
	wayBack string
}

const (
	maxNonce  = 1024
	MaxClaims = 8192
)

func (p *Authorizations) readOpenID(ctx context.Context, a *Authorization) error {
	form := a.Parameters
	// OIDC Form Post §2. It is read first: every error after it goes that way.
	if form.Get("response_mode") == "form_post" {
		// A form goes to a web server; a program on this computer that has a scheme of
		// its own never sees it.
		if !strings.HasPrefix(a.RedirectURI, "https://") && !strings.HasPrefix(a.RedirectURI, "http://") {
			return oauth.Refuse("invalid_request", "response_mode=form_post needs a redirect URI that begins with https:// or http://.")
		}
		a.OpenID.formPost = true
	}
	if form.Has("registration") {
		return oauth.Refuse("registration_not_supported", "The registration parameter is not supported.")
	}
	a.OpenID.nonce, a.OpenID.loginHint = form.Get("nonce"), form.Get("login_hint")
	if len(a.OpenID.nonce) > maxNonce {
		return oauth.Refuse("invalid_request", "nonce is longer than %d bytes.", maxNonce)
	}
	err := a.OpenID.ReadPrompt(form)
	if err != nil {
		return err
	}
	err = a.OpenID.ReadClaims(form, p.rules.AllowedScopes(a.Application))
	if err != nil {
		return err
	}
	return p.readHint(ctx, a)
}

func (o *OpenIDRequest) ReadPrompt(form url.Values) error {
	o.Prompt = strings.Fields(form.Get("prompt"))
	for _, value := range o.Prompt {
		switch value {
		case "none", "login", "consent", "select_account":
		default:
			return oauth.Refuse("invalid_request", "prompt has the value %q: it may have none, login, consent and select_account.", oauth.Clip(value, 40))
		}
	}
	// OIDC Core §3.1.2.1: none stands alone.
	if slices.Contains(o.Prompt, "none") && len(o.Prompt) > 1 {
		return oauth.Refuse("invalid_request", "prompt=none must have no other value beside it.")
	}
	if display := form.Get("display"); display != "" && !slices.Contains([]string{"page", "popup", "touch", "wap"}, display) {
		return oauth.Refuse("invalid_request", "display must be page, popup, touch or wap.")
	}
	if text := form.Get("max_age"); text != "" {
		age, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return oauth.Refuse("invalid_request", "max_age must be a number of seconds from 0.")
		}
		o.MaxAge = int64(age)
	}
	return nil
}

// readClaims checks the claims parameter (OIDC Core §5.5): a JSON object with
// the members userinfo and id_token, whose members are null or objects. Others
// are to be ignored.
func (o *OpenIDRequest) ReadClaims(form url.Values, allowed []string) error {
	text := form.Get("claims")
	if text == "" {
		return nil
	}
	if len(text) > MaxClaims {
		return oauth.Refuse("invalid_request", "claims is longer than %d bytes.", MaxClaims)
	}
	var asked tokens.ClaimsRequest
	err := json.Unmarshal([]byte(text), &asked)
	if err != nil {
		return oauth.Refuse("invalid_request", "claims must be a JSON object with the members userinfo and id_token.")
	}
	acr, sub := asked.IDToken["acr"], asked.IDToken["sub"]
	asked = asked.Within(allowed)
	var kept strings.Builder
	plain := json.NewEncoder(&kept)
	plain.SetEscapeHTML(false) // it would take six bytes for one
	err = plain.Encode(asked)
	if err != nil {
		return err
	}
	o.Claims, o.Told = strings.TrimSpace(kept.String()), asked.Scopes()
	// OIDC Core §5.5.1.1: an essential acr that cannot be had is a failed login.
	if acr != nil && acr.Essential && !acr.Takes(tokens.PasswordLogin) {
		return oauth.Refuse("unmet_authentication_requirements", "claims asks for an acr that this server does not have: it has %s.", tokens.PasswordLogin)
	}
	if sub != nil {
		return o.readSubjects(*sub)
	}
	return nil
}

// readSubjects: OIDC Core §5.5.1: the answer is about a subject that was asked
// for, or there is none (§3.1.2.2).
func (o *OpenIDRequest) readSubjects(asked tokens.ClaimRequest) error {
	for _, raw := range asked.Wanted() {
		var subject string
		err := json.Unmarshal(raw, &subject)
		if err != nil || subject == "" {
			return oauth.Refuse("invalid_request", "claims asks for a sub that is not text, or is empty.")
		}
		o.Subjects = append(o.Subjects, subject)
	}
	return nil
}

// about says whether an answer about a subject is one to the request.
func (o *OpenIDRequest) about(subject string) bool {
	return len(o.Subjects) == 0 || slices.Contains(o.Subjects, subject)
}

func (p *Authorizations) readHint(ctx context.Context, a *Authorization) error {
	text := a.Parameters.Get("id_token_hint")
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
	if !a.OpenID.about(subject) {
		return oauth.Refuse("invalid_request", "id_token_hint is about somebody else than the sub that claims asks for.")
	}
	a.OpenID.Subjects = []string{subject}
	return nil
}

// WayBackLife is how long a browser may take from the login page back to the
// request that sent it there.
const WayBackLife = time.Minute

// waits names an authorization request that waits for a login: in the session
// that began with that login, and in no other, and nothing else that the same
// client may ask for.
func waits(sessionDigest string, request url.Values) string {
	return "login " + sessionDigest + " " + seal.Digest(request.Encode())
}

// WayBack is what a browser keeps of a login on its way back to the request that
// it was for, so that prompt=login asks once and not for ever. It comes of the
// login itself: an address has nothing in it that could be carried elsewhere.
func (p *Authorizations) WayBack(in *people.SignIn, request url.Values) string {
	return p.tickets.Seal([]byte(strconv.FormatInt(oauth.Now(), 10)), waits(seal.Digest(in.Session), request))
}

// CameBy says what the browser kept.
func (a *Authorization) CameBy(wayBack string) { a.OpenID.wayBack = wayBack }

// hasCome says whether the person has just signed in for this very request.
func (p *Authorizations) hasCome(a *Authorization, s *storage.SignedIn) bool {
	text, err := p.tickets.Open(a.OpenID.wayBack, waits(s.Session.Digest, a.sent))
	if err != nil {
		return false
	}
	at, err := strconv.ParseInt(string(text), 10, 64)
	return err == nil && oauth.Now()-at <= oauth.Seconds(WayBackLife)
}

// mustLogin says whether the person who is signed in must sign in again.
func (p *Authorizations) MustLogin(a *Authorization, s *storage.SignedIn) bool {
	o := a.OpenID
	if p.hasCome(a, s) {
		return !o.about(p.tokens.Subject(a.Application.Sector, s.User.ID))
	}
	switch {
	case slices.Contains(o.Prompt, "login"), slices.Contains(o.Prompt, "select_account"):
		return true
	case o.MaxAge >= 0 && oauth.Now()-s.Session.AuthTime > o.MaxAge:
		return true
	case o.MaxAge == 0:
		// OIDC Core §3.1.2.1: the same as prompt=login.
		return true
	}
	// OIDC Core §3.1.2.1: somebody else than the hint names.
	return !o.about(p.tokens.Subject(a.Application.Sector, s.User.ID))
}

// sessionBound is when a login's tokens end at the latest: with the session,
// unless the person agreed to offline access (OIDC Core §11). An approval that is
// no login has nothing to do with how long a browser is signed in; 0 is never.
func (p *Authorizations) SessionBound(scopes []string, s storage.Session) int64 {
	if !p.config.OpenID || !slices.Contains(scopes, "openid") || slices.Contains(scopes, policy.OfflineAccess) {
		return 0
	}
	return s.ExpiresAt
}

// Silent says that nothing may be shown to the person: OIDC Core §3.1.2.1,
// prompt=none.
func (a *Authorization) Silent() bool { return slices.Contains(a.OpenID.Prompt, "none") }

// LoginHint is the name that the login page begins with.
func (a *Authorization) LoginHint() string { return oauth.Clip(a.OpenID.loginHint, 150) }

// LoginRequired is the refusal of a silent request that needs a login (OIDC
// Core §3.1.2.6).
func LoginRequired() *oauth.Error {
	return oauth.Refuse("login_required", "The person must sign in, which prompt=none forbids.")
}
