package check

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Request is an authorization request (RFC 6749 §4.1.1). A check can change it before it is sent.
type Request struct {
	Client   *target.Client
	Params   url.Values
	Verifier string // of the PKCE challenge in Params

	Endpoint string
	URI      string // the request URI if the request was pushed: the browser sends nothing else (RFC 9126 §4)

	Object  string     // the request object, if the browser sends it instead of Params (RFC 9101 §5.1)
	Outside url.Values // what the browser sends beside it
}

// Request returns a request that follows best practice: with state, and PKCE with S256.
func (t *T) Request(c *target.Client) *Request {
	verifier, challenge := NewPKCE()
	r := &Request{Client: c, Verifier: verifier, Endpoint: t.Endpoint(need.Authorization), Params: wire.Params(
		"response_type", "code", "client_id", c.ID, "redirect_uri", c.RedirectURI(), "state", t.Random(),
		"code_challenge", challenge, "code_challenge_method", "S256")}
	scope := c.Scope
	if scope == "" {
		scope = t.server.Target.Scope
	}
	if scope != "" {
		r.Set("scope", scope)
	}
	for name, value := range t.server.Target.Parameters {
		r.Set(name, value)
	}
	return r
}

// NewPKCE returns a verifier and its S256 challenge (RFC 7636 §4.1, §4.2).
func NewPKCE() (verifier, challenge string) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it cannot fail
	verifier = base64.RawURLEncoding.EncodeToString(random)
	return verifier, Challenge(verifier)
}

// Challenge returns the S256 challenge of a verifier.
func Challenge(verifier string) string {
	digest := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// Set replaces the values of a parameter.
func (r *Request) Set(name, value string) *Request { r.Params.Set(name, value); return r }

// Add adds another value of a parameter.
func (r *Request) Add(name, value string) *Request { r.Params.Add(name, value); return r }

// Del removes parameters.
func (r *Request) Del(names ...string) *Request {
	for _, name := range names {
		r.Params.Del(name)
	}
	return r
}

// URL returns the request as an address.
func (r *Request) URL() string {
	sent := wire.Params("client_id", r.Client.ID)
	switch {
	case r.URI != "":
		sent.Set("request_uri", r.URI)
	case r.Object != "":
		maps.Copy(sent, r.Outside)
		sent.Set("request", r.Object)
	default:
		sent = r.Params
	}
	return wire.WithQuery(r.Endpoint, sent)
}

// Response is the outcome of an authorization request.
type Response struct {
	Params   url.Values   // the response that the client receives; empty if there is none
	Mode     string       // query, fragment or form_post
	Location string       // the address to which the response was sent, or "" if the browser stayed at the server
	Answer   *wire.Answer // the redirect, or the last page
	Asked    bool         // the person was asked for consent
	Stuck    string       // why the browser could not continue
	entered  bool         // the server accepted the password

	Request *Request
	Seen    []*wire.Answer // all redirects and pages
	form    *browser.Form  // the form of the consent page, if the browser stops there
}

// ErrorCode returns the error of the response, or "".
func (r *Response) ErrorCode() string { return r.Params.Get("error") }

// WithError blocks the check if a response is no error.
func (t *T) WithError(r *Response) *Response {
	if r.ErrorCode() == "" {
		t.Blockedf("no error was returned: %s", r)
	}
	return r
}

// Arrived reports whether the response was sent to the redirect URI of the request.
func (r *Response) Arrived() bool {
	sent := r.Request.Params.Get("redirect_uri")
	if sent == "" {
		sent = r.Request.Client.RedirectURI()
	}
	return r.Location != "" && wire.SamePlace(r.Location, sent)
}

// shownText limits the text of a page in a reason.
const shownText = 200

// String describes the outcome. What a page of an error says is often the only hint.
func (r *Response) String() string {
	described := r.brief()
	if r.Stuck != "" || r.Location != "" || r.Answer == nil || r.Answer.Status < http.StatusBadRequest && !r.NamesError() {
		return described
	}
	page := browser.Parse(r.Answer)
	if text := strings.TrimSpace(strings.TrimPrefix(page.Text, page.Title)); text != "" {
		described += ": " + wire.Clip(text, shownText)
	}
	return described
}

// brief describes the outcome without the text of the page, which can be another at each request.
func (r *Response) brief() string {
	switch {
	case r.Stuck != "":
		return r.Stuck
	case r.ErrorCode() != "" && r.Params.Get("error_description") != "":
		return fmt.Sprintf("the client received the error %s (%s)", r.ErrorCode(), r.Params.Get("error_description"))
	case r.ErrorCode() != "":
		return "the client received the error " + r.ErrorCode()
	case r.Location != "" && !r.Arrived():
		return fmt.Sprintf("the browser was sent to %s, which is not the redirect URI: if it is a page of the server, name "+
			"its origin in the target under origins", wire.Place(r.Location))
	case r.Location != "":
		return "the browser was sent to " + wire.Place(r.Location)
	}
	shows := fmt.Sprintf("the server shows a page: %s", r.Answer)
	if title := browser.Parse(r.Answer).Title; title != "" {
		shows += fmt.Sprintf(", %q", wire.ClipWords(title, 100))
	}
	return shows
}

// Authorize sends the request in the browser in which the person is signed in. The person signs in if necessary, and
// approves.
func (t *T) Authorize(r *Request) *Response { return t.Walk(t.SignedIn(), r, true) }

// Deny does the same, and the person denies. The request has prompt=consent (OIDC Core §3.1.2.1), because the server
// may remember an earlier consent. Servers that do not know this parameter ignore it.
func (t *T) Deny(r *Request) *Response {
	return t.Walk(t.SignedIn(), r.Set("prompt", "consent"), false)
}

// OpenAnonymously sends the request in a browser in which nobody is signed in, and fills in no form. It shows how the
// server answers at once.
func (t *T) OpenAnonymously(r *Request) *Response { return t.Open(t.NewBrowser(), r) }

// Open does what OpenAnonymously does, in a given browser.
func (t *T) Open(b *browser.Browser, r *Request) *Response {
	return Ended(r, b, b.Open(r.URL()))
}

// steps limits the number of forms between a request and its response.
const steps = 8

// Walk sends an authorization request in a browser, and fills in the forms of the pages.
func (t *T) Walk(b *browser.Browser, r *Request, approve bool) *Response {
	if approve {
		return t.walk(b, r, sayYes)
	}
	return t.walk(b, r, sayNo)
}

// ConsentForm stops at the consent page, and returns its form, filled in to approve.
func (t *T) ConsentForm(b *browser.Browser, r *Request) *browser.Form {
	response := t.Questioned(t.walk(b, r, sayNothing))
	if response.form == nil {
		t.Blockedf("the consent page has no form: %s", response)
	}
	return response.form
}

// Questioned ends the check if the person was not asked for consent. A server may need no question, for example because
// an administrator has approved the client. Then it issues a code, and the check is skipped. Otherwise it is blocked.
func (t *T) Questioned(r *Response) *Response {
	if !r.Asked && r.Params.Get("code") != "" {
		t.Skipf("the server issued a code to the client %s, and did not ask the person: the rule needs a client whose "+
			"requests the person has to approve", r.Request.Client.Role)
	}
	if !r.Asked {
		t.Blockedf("the person was not asked: %s", r)
	}
	return r
}

// decision is the person's answer on the consent page.
type decision int

const (
	sayYes decision = iota
	sayNo
	sayNothing
)

func (t *T) walk(b *browser.Browser, r *Request, answer decision) *Response {
	response := &Response{Request: r}
	err := b.Open(r.URL())
	named, passed := false, false // whether user name and password were sent
	for range steps {
		response.end(b, err)
		p := browser.Parse(b.Page)
		response.entered = passed && err == nil && t.passedLogin(p, response)
		if err != nil || response.Location != "" {
			break
		}
		if f := t.posted(p); f != nil {
			response.deliver("form_post", f.Action, f.Values)
			break
		}
		form, button, problem := t.nextForm(p, b.Page, &named, &passed, answer != sayNo)
		if problem != "" {
			response.Stuck = problem
			break
		}
		if passed && form != nil && form.Password(t.server.Target.Forms) != nil {
			t.signIns[b.Jar()]++
		}
		if form == nil && button == nil {
			break
		}
		response.Asked = response.Asked || button != nil
		if form == nil {
			err = t.follow(b, button)
			continue
		}
		form.Press(button)
		if button != nil && answer == sayNothing {
			response.form = form
			break
		}
		err = t.submit(b, form, r.Client, button != nil)
	}
	return response
}

// follow opens the address of a button that is a link.
func (t *T) follow(b *browser.Browser, link *browser.Control) error {
	target, err := b.Page.URL.Parse(link.Action)
	if err != nil {
		return err
	}
	return b.Open(target.String())
}

// submit sends a form of a page. Two checks do not decide for the same client at the same moment, because a person does
// not either: a server may then store two consents.
func (t *T) submit(b *browser.Browser, form *browser.Form, c *target.Client, decides bool) error {
	if !decides || c == nil {
		return b.Submit(form)
	}
	one, _ := t.server.deciding.LoadOrStore(c.ID, &sync.Mutex{})
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	return b.Submit(form)
}

// Ended returns the response to a request that a browser has just sent.
func Ended(r *Request, b *browser.Browser, err error) *Response {
	response := &Response{Request: r}
	response.end(b, err)
	return response
}

// end records where the browser is.
func (r *Response) end(b *browser.Browser, err error) {
	r.Seen = append(r.Seen, b.Hops...)
	r.Answer = b.Page
	if b.Page != nil && b.Away == "" {
		r.Seen = append(r.Seen, b.Page)
	}
	if err != nil {
		r.Stuck = err.Error()
		return
	}
	target, parseErr := url.Parse(b.Away)
	if b.Away == "" || parseErr != nil {
		return
	}
	fragment, _ := url.ParseQuery(target.EscapedFragment())
	if len(fragment) > 0 && (fragment.Has("code") || fragment.Has("error") || fragment.Has("access_token") ||
		fragment.Has("id_token")) {
		r.deliver("fragment", b.Away, fragment)
		return
	}
	r.deliver("query", b.Away, target.Query())
}

func (r *Response) deliver(mode, location string, sent url.Values) {
	r.Mode, r.Location, r.Params = mode, location, sent
}

// WantRedirectError asserts that the client receives one of the errors at its redirect URI.
func (t *T) WantRedirectError(r *Response, codes ...string) {
	if r.Answer != nil {
		t.At(r.Answer)
	}
	if r.Stuck != "" {
		t.Blockedf("%s", r.Stuck)
	}
	if !r.Arrived() {
		t.Failf("no response reached the redirect URI; want the error %s: %s", strings.Join(codes, " or "), r)
	}
	if !slices.Contains(codes, r.ErrorCode()) {
		t.Failf("%s; want the error %s", r, strings.Join(codes, " or "))
	}
}

// WantNoCode asserts that no code was issued. If the browser could not continue, the check is blocked. How the server
// says so is not asserted: a page with the status 500 violates the rules about the error response, and issues no code.
func (t *T) WantNoCode(r *Response, why string) {
	if r.Answer != nil {
		t.At(r.Answer)
	}
	switch {
	case r.Params.Get("code") != "":
		t.Failf("a code was issued, although %s", why)
	case r.Stuck != "":
		t.Blockedf("%s", r.Stuck)
	}
}

// WantWithheld asserts that no code was issued, for a rule that says nothing about the error.
func (t *T) WantWithheld(r *Response, why string) {
	if r.Params.Get("code") != "" {
		t.At(r.Answer)
		t.Failf("a code was issued, although %s", why)
	}
}

// errorCodes are the errors that say what is wrong with a request (RFC 6749 §4.1.2.1, §5.2, OIDC Core §3.1.2.6).
var errorCodes = regexp.MustCompile(
	`\b(invalid_request|invalid_client|invalid_request_object|invalid_request_uri|` +
		`invalid_scope|unauthorized_client|access_denied|unsupported_response_type|` +
		`unsupported_response_mode|login_required|consent_required|interaction_required|` +
		`account_selection_required|request_not_supported|request_uri_not_supported|registration_not_supported)\b`)

// NamesError reports whether the browser stopped at a page that names one of the errors of the documents. No document
// defines the status of such a page, so 500 is no internal error there.
func (r *Response) NamesError() bool {
	return r.Location == "" && r.Answer != nil && errorCodes.MatchString(browser.Parse(r.Answer).Text)
}

// Outcome describes the outcome so that two of them can be compared.
func (r *Response) Outcome() string {
	switch {
	case r.Params.Get("code") != "":
		return "a code"
	case r.ErrorCode() != "":
		return "the error " + r.ErrorCode()
	}
	return r.brief()
}
