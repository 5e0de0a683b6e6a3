package main

import (
	"context"
	"fmt"

	"mandate/conformance/bench/load"
	"mandate/conformance/jose"
)

// path is a kind of request, which is compared with the bare handler that does the minimum for it.
type path struct {
	name, title string
	connections int
	bare        string
	goal        map[string]float64 // goals of the ratio, by database
	// ready reports whether the target can serve the path.
	ready func(*target) bool
	// plain, if it is not nil, replaces the bare handler: it sends the same requests to the same server, without the
	// one thing that the path is about.
	plain workersOf
	// workers returns that many workers, which may send that many requests in all. Their preparations are not
	// measured.
	workers workersOf
	uses    bool // each request consumes something
}

type workersOf func(ctx context.Context, t *target, workers, requests int) (load.Endpoint, []load.Worker, error)

// without is the name of such a replacement in the tables.
const without = "without"

// aimed lets workers send requests that concern one resource (RFC 8707).
func aimed(workers workersOf) workersOf {
	return func(ctx context.Context, t *target, n, requests int) (load.Endpoint, []load.Worker, error) {
		return workers(ctx, t.aimed, n, requests)
	}
}

const (
	onPostgres = "PostgreSQL"
	onSQLite   = "SQLite"
	elsewhere  = "target"
)

// allPaths are in the order of a round. Their goals are documented.
func allPaths(o *options) []path {
	both := func(postgres, sqlite float64) map[string]float64 {
		return map[string]float64{onPostgres: postgres, onSQLite: sqlite}
	}
	token := func(t *target) bool { return t.token != "" }
	people := func(t *target) bool { return t.token != "" && t.authorize != "" && len(t.cookies) > 0 }
	paths := []path{
		{name: "client", title: "client credentials", connections: o.wide, bare: "insert", goal: both(1, 1.5), ready: token,
			workers: clientWorkers},
	}
	for _, n := range o.tokens {
		title := fmt.Sprintf("introspection, %s tokens", grouped(n))
		if n == 1 {
			title = "introspection, one token"
		}
		paths = append(paths, path{name: fmt.Sprintf("introspect-%d", n), title: title, connections: o.connections,
			bare: "select", goal: both(1, 0.8),
			ready:   func(t *target) bool { return token(t) && t.introspect != "" },
			workers: introspectWorkers(n)})
	}
	keys := func(t *target) bool { return t.key != nil }
	aims := func(t *target) bool { return t.aimed != nil }
	paths = append(paths,
		path{name: "resource-client", title: "client credentials with a resource", connections: o.wide, bare: without,
			goal: both(0.97, 0.97), ready: aims,
			plain: clientWorkers, workers: aimed(clientWorkers)},
		path{name: "resource-introspect", title: "introspection of tokens for a resource", connections: o.connections,
			bare: without, goal: both(0.97, 0.97), ready: aims,
			plain: introspectWorkers(1000), workers: aimed(introspectWorkers(1000))},
		path{name: "assertion", title: "client credentials with private_key_jwt", connections: o.wide, bare: without,
			goal: both(0.5, 0.5), ready: keys,
			plain: clientWorkers, workers: assertionWorkers, uses: true},
		path{name: "push", title: "authorization code flow, pushed", connections: o.connections, bare: without,
			goal:  both(0.6, 0.6),
			ready: func(t *target) bool { return people(t) && t.push != "" }, plain: flowWorkers(false),
			workers: flowWorkers(true)},
		path{name: "refresh", title: "refresh with rotation", connections: o.connections, bare: "insert",
			goal: both(0.35, 0.6), ready: people, workers: refreshWorkers},
		path{name: "code", title: "code exchange with PKCE", connections: o.connections, bare: "insert",
			goal: both(0.35, 0.6), ready: people, workers: codeWorkers, uses: true},
		path{name: "device", title: "device poll", connections: o.connections, bare: "insert", goal: both(0.8, 0.8),
			ready: func(t *target) bool { return t.device != "" }, workers: deviceWorkers},
		path{name: "register", title: "registration of a public client", connections: o.connections, bare: "insert",
			goal:  both(0.35, 0.35),
			ready: func(t *target) bool { return t.register != "" }, workers: registerWorkers},
		path{name: "guard", title: "resource guard, warm cache", connections: o.connections, bare: "fixed",
			goal:  both(0.8, 0.8),
			ready: func(t *target) bool { return token(t) && t.resource != "" },
			workers: func(ctx context.Context, t *target, n, _ int) (load.Endpoint, []load.Worker, error) {
				return guardWorkers(ctx, t, t.resource, n)
			}},
		path{name: "dpop", title: "resource guard with DPoP, warm cache", connections: o.connections, bare: "verify",
			goal:  both(0.8, 0.8),
			ready: func(t *target) bool { return keys(t) && t.resource != "" }, workers: provenWorkers, uses: true},
		path{name: "sample", title: "sample API, warm cache", connections: o.connections, bare: "fixed",
			ready: func(t *target) bool { return token(t) && t.sample != "" },
			workers: func(ctx context.Context, t *target, n, _ int) (load.Endpoint, []load.Worker, error) {
				return guardWorkers(ctx, t, t.sample, n)
			}},
		path{name: "proxy", title: "guard as a proxy, warm cache", connections: o.connections, bare: "fixed",
			ready: func(t *target) bool { return token(t) && t.proxy != "" },
			workers: func(ctx context.Context, t *target, n, _ int) (load.Endpoint, []load.Worker, error) {
				return guardWorkers(ctx, t, t.proxy, n)
			}},
	)
	if o.against != "" {
		for i := range paths {
			paths[i].bare, paths[i].goal = "", nil
		}
	}
	return paths
}

// bareWorkers send requests to the bare handler of a path. They select as many different rows as the path has tokens.
// What is verified is signed by the key.
func bareWorkers(base string, p path, rows, workers int, key *jose.Key) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(base + "/" + p.bare)
	if err != nil {
		return to, nil, err
	}
	var requests [][]byte
	switch p.bare {
	case "insert":
		requests = [][]byte{to.Form("").With(nil, []byte("grant_type=client_credentials"))}
	case "fixed":
		requests = [][]byte{to.Get("", "")}
	case "verify":
		requests = [][]byte{to.Get("", "DPoP: "+proof(key, "GET", base, "")+"\r\n")}
	case "select":
		for n := range rows {
			requests = append(requests, to.Get(fmt.Sprintf("?%d", n), ""))
		}
	}
	var all []load.Worker
	for n := range workers {
		all = append(all, &asker{requests: requests, at: n * len(requests) / workers, want: map[string]string{
			"insert": "access_token", "select": "client_id", "fixed": "client_id", "verify": "client_id"}[p.bare]})
	}
	return to, all, nil
}

// clientWorkers request tokens for a client itself (RFC 6749 §4.4).
func clientWorkers(_ context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.token)
	if err != nil {
		return to, nil, err
	}
	header, fields := t.proof(t.machine)
	request := to.Form(header).With(nil, []byte("grant_type=client_credentials"+t.narrowing()+fields))
	var all []load.Worker
	seen := &sample{}
	for range workers {
		all = append(all, &issuer{request: request, seen: seen})
	}
	return to, all, nil
}

// introspectWorkers introspect valid tokens. Each worker uses all of them in turn, and begins with another one.
func introspectWorkers(tokens int) workersOf {
	return func(ctx context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
		to, err := load.ParseEndpoint(t.introspect)
		if err != nil {
			return to, nil, err
		}
		live, err := t.tokens(ctx, tokens)
		if err != nil {
			return to, nil, err
		}
		header, fields := t.proof(t.api)
		head := to.Form(header)
		var requests [][]byte
		for _, token := range live {
			requests = append(requests, head.With(nil, []byte("token="+escape(token)+fields)))
		}
		var all []load.Worker
		for n := range workers {
			all = append(all, &asker{requests: requests, at: n * len(requests) / workers, active: true})
		}
		return to, all, nil
	}
}

// guardWorkers use a hundred tokens at an API. Earlier rounds have filled the cache, which asks again as often as by
// default.
func guardWorkers(ctx context.Context, t *target, address string, workers int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(address)
	if err != nil {
		return to, nil, err
	}
	live, err := t.tokens(ctx, 100)
	if err != nil {
		return to, nil, err
	}
	var requests [][]byte
	for _, token := range live {
		requests = append(requests, to.Get("", "Authorization: Bearer "+token+"\r\n"))
	}
	var all []load.Worker
	for n := range workers {
		all = append(all, &asker{requests: requests, at: n * len(requests) / workers})
	}
	return to, all, nil
}

// refreshWorkers use a chain of refresh tokens each, because a refresh token works only once (RFC 9700 §4.14.2).
func refreshWorkers(ctx context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.token)
	if err != nil {
		return to, nil, err
	}
	const spare = 16
	chains, err := t.chains(ctx, workers+spare)
	if err != nil {
		return to, nil, err
	}
	spares := make(chan string, spare)
	for _, chain := range chains[workers:] {
		spares <- chain
	}
	header, fields := t.proof(t.web)
	var all []load.Worker
	for n := range workers {
		all = append(all, &refresher{form: to.Form(header), fields: []byte(fields), token: []byte(chains[n]), spares: spares})
	}
	return to, all, nil
}

// codeWorkers redeem codes that were requested before, so that only the exchange is measured. If a round has used all
// codes, it ends earlier, and its rate is computed for the time until then. If the codes were requested during the
// round, an unknown part of the processor time would be theirs.
func codeWorkers(ctx context.Context, t *target, workers, requests int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.token)
	if err != nil {
		return to, nil, err
	}
	made, err := t.codes(ctx, requests)
	if err != nil {
		return to, nil, err
	}
	pool := &codePool{codes: made}
	header, fields := t.proof(t.web)
	rest := t.redeeming(fields)
	var all []load.Worker
	seen := &sample{}
	for range workers {
		all = append(all, &redeemer{form: to.Form(header), rest: rest, pool: pool, seen: seen})
	}
	return to, all, nil
}

// redeeming returns what follows a code and its verifier in a token request.
func (t *target) redeeming(fields string) []byte {
	return []byte("&redirect_uri=" + escape(t.redirect) + fields)
}
