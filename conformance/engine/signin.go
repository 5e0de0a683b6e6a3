package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// attempts is how often the sign-in is tried with corrected answers.
const attempts = 5

// signIn walks one authorization request with the answers, says what it sees, and asks for what is missing: forms,
// origins, the password, the client or the scope. It reports whether the sign-in works at the end, or was not tried.
func (q *questions) signIn(t *target.Target, o *wire.Network) bool {
	if t.User.Username == "" || t.Clients[need.Code] == nil && t.Register == "" {
		return true
	}
	for range attempts {
		if q.err != nil {
			return false
		}
		q.say("\nTrying to sign in as %s ...\n", t.User.Username)
		w, err := tryWalk(q.ctx, t, o)
		if err != nil && w == nil {
			q.say("  It did not work: %s\n", wire.Printable(err.Error()))
			return false
		}
		if err != nil { // the client of the trial stays, which says nothing about the sign-in
			q.say("  The client of this trial could not be removed: %s\n", wire.Printable(err.Error()))
		}
		for _, line := range w.seen() {
			q.say("  %s\n", wire.Printable(line))
		}
		if !q.mend(t, w) {
			return w.works()
		}
	}
	return false
}

// trial is one authorization request, and what became of it.
type trial struct {
	response *check.Response
	refusal  string // why the token endpoint refused the code
	forgets  bool   // the next request asks for the password again
}

// issued reports whether the client received a code.
func (w *trial) issued() bool { return w.response.Params.Get("code") != "" && w.response.Arrived() }

// works reports whether the client received tokens too.
func (w *trial) works() bool { return w.issued() && w.refusal == "" }

// tryWalk sends the request as the client for codes. If the target says that clients are registered for each run, it
// registers one, and removes it afterwards.
func tryWalk(ctx context.Context, of *target.Target, n *wire.Network) (*trial, error) {
	t := *of
	t.Clients = map[need.Need]*target.Client{}
	s := check.NewServer(&t, n)
	err := s.Discover(ctx)
	if err != nil {
		return nil, err
	}
	r := &Runner{Server: s}
	t.Clients[need.Code] = of.Clients[need.Code]
	if t.Clients[need.Code] == nil {
		role, _ := need.RoleOf(need.Code)
		made, err := r.registerOne(context.WithoutCancel(ctx), s.Endpoint(need.Registration), role)
		if err != nil {
			return nil, fmt.Errorf("the server did not register a client: %w", err)
		}
		t.Clients[need.Code], r.made = made, []*target.Client{made}
	}
	made := &trial{}
	result := r.Check(ctx, check.Rule{Check: func(t *check.T) {
		made.response = t.Walk(t.NewBrowser(), t.Request(t.Client(need.Code)), true)
		if code := made.response.Params.Get("code"); code != "" && made.response.Arrived() {
			a := t.Redeem(&check.Code{Value: code, Request: made.response.Request})
			if !a.Granted() {
				made.refusal = a.Failure()
			}
			made.forgets = !t.Remembers()
		}
	}})
	err = r.Close(context.WithoutCancel(ctx))
	if made.response == nil {
		return nil, errors.Join(errors.New(result.Reason), err)
	}
	return made, err
}

// seen describes the pages and redirects.
func (w *trial) seen() []string {
	var all []string
	for _, a := range w.response.Seen {
		line := fmt.Sprintf("%s %s: %s", a.Method, wire.Bare(a.URL), a)
		if p := browser.Parse(a); len(p.Forms) > 0 || p.Title != "" {
			line += fmt.Sprintf(", the page %q with %s", wire.Clip(p.Title, 60), p.Describe())
		}
		all = append(all, line)
	}
	return all
}

// mend asks for what the walk lacked. It reports whether another attempt makes sense.
func (q *questions) mend(t *target.Target, w *trial) bool {
	r := w.response
	var page *browser.Page
	if r.Answer != nil && r.Location == "" {
		page = browser.Parse(r.Answer)
	}
	switch {
	case w.works():
		q.say("  It works: the server issued a code and tokens.\n")
		return w.forgets && q.remember(t, w)
	case w.issued():
		q.say("  The server issued a code, but the token endpoint refuses it: %s\n", wire.Printable(w.refusal))
		if c := t.Clients[need.Code]; c != nil {
			return q.replace("Secret of the client code", &c.Secret)
		}
	case r.ErrorCode() == "invalid_scope":
		q.say("  The server refuses the scope.\n")
		return q.replace("Scope to ask for instead", &t.Scope)
	case r.ErrorCode() != "":
		q.say("  The server answers with %s.\n", wire.Printable(r.String()))
	case r.Location != "":
		origin := wire.Origin(r.Location)
		if !q.yes(fmt.Sprintf("The browser was sent to %s. Does the server have its pages there?", wire.Printable(origin)),
			false) {
			return false
		}
		t.Origins = append(t.Origins, origin)
		return true
	case page != nil && r.Stuck != "" && page.AsksPassword(t.Forms):
		q.say("  The server did not accept the user name or the password.\n")
		name := q.replace("User name", &t.User.Username)
		return q.replace("Password", &t.User.Password) || name
	case page != nil && len(page.Forms) > 0:
		return q.forms(t, page)
	default:
		q.say("  The walk ended there: %s\n", wire.Printable(r.String()))
		return page != nil && q.otherClient(t)
	}
	return false
}

// otherClient asks for the client code again, because the server may not know the first answers.
func (q *questions) otherClient(t *target.Target) bool {
	c := t.Clients[need.Code]
	if c == nil || len(c.RedirectURIs) == 0 {
		return false
	}
	id := q.replace("Client ID of the client code", &c.ID)
	c.RedirectURIs = slices.Clone(c.RedirectURIs)
	uri := q.replace("Its redirect URI", &c.RedirectURIs[0])
	return id || uri
}

// remember asks whether to tick a box of the sign-in page, because the server does not remember the sign-in without it.
func (q *questions) remember(t *target.Target, w *trial) bool {
	q.say("  The next request in the same browser asks for the password again, so that rules about sessions and logout " +
		"cannot be checked.\n")
	for _, a := range w.response.Seen {
		for _, f := range browser.Parse(a).Forms {
			box := f.RememberBox()
			if box == "" || t.Forms.Remember != "" || f.Password(t.Forms) == nil {
				continue
			}
			if q.yes(fmt.Sprintf("Tick the box %q on the sign-in page?", wire.Printable(box)), true) {
				t.Forms.Remember = box
			}
			return t.Forms.Remember != ""
		}
	}
	return false
}

// replace asks for a new value, and reports whether there is one.
func (q *questions) replace(what string, value *string) bool {
	text := q.ask(what+" (Enter: leave it)", nil)
	if text != "" {
		*value = text
	}
	return text != ""
}

// forms asks for the names of fields and buttons that the browser did not find.
func (q *questions) forms(t *target.Target, p *browser.Page) bool {
	q.say("  This page was not understood. It has %s.\n", wire.Printable(p.Describe()))
	answered := false
	for _, hint := range []struct {
		question string
		value    *string
	}{
		{"Name of the field for the user name", &t.Forms.Username},
		{"Name of the field for the password", &t.Forms.Password},
		{"Words on the button that approves", &t.Forms.Approve},
		{"Words on the button that denies", &t.Forms.Deny},
	} {
		answered = q.replace(hint.question, hint.value) || answered
	}
	return answered
}
