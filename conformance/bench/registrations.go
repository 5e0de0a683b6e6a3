package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"mandate/conformance/bench/load"
)

// registerWorkers register public clients (RFC 7591 §3.1). Each client is different, and comes from another network,
// because the server limits the registrations of one network.
func registerWorkers(_ context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.register)
	if err != nil {
		return to, nil, err
	}
	var all []load.Worker
	for range workers {
		all = append(all, &registrar{to: to})
	}
	return to, all, nil
}

type registrar struct {
	to        load.Endpoint
	buf, body []byte
}

func (w *registrar) Next() []byte {
	w.body = fmt.Appendf(w.body[:0],
		`{"client_name":"Tool","redirect_uris":["http://127.0.0.1/%x"],"grant_types":["authorization_code","refresh_token"],`+
			`"response_types":["code"],"token_endpoint_auth_method":"none"}`, rand.Uint64())
	n := rand.Uint32()
	from := fmt.Sprintf("X-Forwarded-For: %d.%d.%d.%d\r\n", 1+n>>24%223, n>>16&255, n>>8&255, n&255)
	w.buf = w.to.Post("application/json", from).With(w.buf, w.body)
	return w.buf
}

func (w *registrar) Check(r load.Response) string {
	if wrong := refused(r); wrong != "" {
		return wrong
	}
	if len(field(r.Body, "client_id")) == 0 || len(field(r.Body, "registration_access_token")) == 0 {
		return "201 without client_id and registration_access_token"
	}
	return ""
}
