package main

import (
	"context"

	"mandate/conformance/bench/load"
)

// flowWorkers do whole authorization code flows with PKCE, as a signed-in person for an application that needs no
// consent. If the flows are pushed, the application first sends the authorization request to the server (RFC 9126).
func flowWorkers(pushed bool) workersOf {
	return func(_ context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
		var ends []load.Endpoint // of one server, so that a worker needs one connection
		for _, address := range []string{t.push, t.authorize, t.token} {
			to, err := load.ParseEndpoint(address)
			if err != nil {
				return to, nil, err
			}
			ends = append(ends, to)
		}
		header, fields := t.proof(t.web)
		var all []load.Worker
		for n := range workers {
			f := &flow{web: t.web.ID, fields: []byte(fields), form: ends[0].Form(header), person: t.person(ends[1], n),
				site: &redeemer{form: ends[2].Form(header), rest: t.redeeming(fields)}}
			f.steps = []step{{f.person.Next, f.person.Check}, {f.redeem, f.site.Check}}
			if pushed {
				f.steps = []step{{f.push, f.keep}, {f.open, f.person.Check}, {f.redeem, f.site.Check}}
			}
			all = append(all, f)
		}
		return ends[0], all, nil
	}
}

// flow is an application, and the browser of its person. Its last step completes it.
type flow struct {
	web    string
	fields []byte
	form   load.Form // of pushed requests
	person *authorizer
	site   *redeemer
	steps  []step
	at     int
	query  string // of a pushed request
}

// step is one request of a flow.
type step struct {
	next  func() []byte
	check func(load.Response) string
}

func (w *flow) Next() []byte { return w.steps[w.at].next() }

func (w *flow) Check(r load.Response) string {
	wrong := w.steps[w.at].check(r)
	w.at++
	switch {
	case wrong != "" || w.at == len(w.steps):
		w.at = 0
		return wrong
	}
	return load.Unfinished
}

func (w *flow) push() []byte { return w.form.With(nil, []byte(w.person.ask()), w.fields) }

// keep keeps the address of a pushed request (RFC 9126 §2.2).
func (w *flow) keep(r load.Response) string {
	if wrong := refused(r); wrong != "" {
		return wrong
	}
	address := string(field(r.Body, "request_uri"))
	if address == "" {
		return "201 without request_uri"
	}
	w.query = "client_id=" + escape(w.web) + "&request_uri=" + escape(address)
	return ""
}

func (w *flow) open() []byte { return w.person.get(w.query) }

func (w *flow) redeem() []byte {
	made := w.person.made
	w.person.made = made[:0]
	return w.site.redeem(made[len(made)-1])
}
