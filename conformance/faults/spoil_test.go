package faults

import (
	"bytes"
	"encoding/json"
	"net/url"

	"mandate/conformance/wire"
)

// The parts of spoilers.

// spoiling changes requests.
func spoiling(change func(p *proxy, q *ask)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		change(p, q)
		return p.real(q)
	}
}

// answering changes answers.
func answering(change func(a *wire.Answer)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		change(a)
		return a
	}
}

// granting changes responses with tokens.
func granting(change func(a *wire.Answer)) spoiler {
	return answering(func(a *wire.Answer) {
		if a.Granted() {
			change(a)
		}
	})
}

// refusing changes error responses.
func refusing(change func(a *wire.Answer)) spoiler {
	return answering(func(a *wire.Answer) {
		if a.Status >= 400 {
			change(a)
		}
	})
}

// member sets or removes a member of responses with tokens.
func member(name string, value any) spoiler {
	return granting(func(a *wire.Answer) { edit(a, put(name, value)) })
}

func put(name string, value any) func(map[string]any) {
	return func(object map[string]any) {
		delete(object, name)
		if value != nil {
			object[name] = value
		}
	}
}

// miscalling replaces the code of an error.
func miscalling(code, other string) spoiler {
	return answering(func(a *wire.Answer) {
		if a.Text("error") == code {
			edit(a, put("error", other))
		}
	})
}

// sending changes the parameters of redirects to clients.
func sending(change func(p *proxy, sent url.Values)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if to := p.away(a); to != nil {
			sent := to.Query()
			change(p, sent)
			to.RawQuery = sent.Encode()
			a.Header.Set("Location", to.String())
		}
		return a
	}
}

// refusingIf answers instead of the server if a condition holds.
func refusingIf(is func(p *proxy, q *ask) bool, answer func() *wire.Answer) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		if is(p, q) {
			return answer()
		}
		return p.real(q)
	}
}

func header(name, value string) func(a *wire.Answer) {
	return func(a *wire.Answer) {
		if value == "" {
			a.Header.Del(name)
			return
		}
		a.Header.Set(name, value)
	}
}

func status(code int) func(a *wire.Answer) { return func(a *wire.Answer) { a.Status = code } }

// edit changes the object in an answer.
func edit(a *wire.Answer, change func(map[string]any)) {
	object := a.JSON()
	if object == nil {
		return
	}
	change(object)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(object) // it was decoded before
	a.Body = b.Bytes()
}
