package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9449 returns the rules about DPoP.
func rfc9449() []Rule {
	return slices.Concat(rfc9449Proof(), rfc9449Token(), rfc9449Nonce(), rfc9449Code(), rfc9449API(), rfc9449Elsewhere())
}

// rfc9449Token returns the rules about tokens that are bound to a key (RFC 9449 §5, §6).
func rfc9449Token() []Rule {
	return []Rule{
		{
			ID: "RFC9449/5/bound", Level: Must,
			Text:  "A token request with a proof gets an access token that is bound to the key of the proof.",
			Needs: []Need{need.Token, need.Introspection, need.Introspect},
			Check: func(t *T) {
				r := aProvenRequest(t)
				if key := boundTo(liveToken(t, t.Granted(r.send()).Access)); key != r.prover.Thumbprint() {
					t.Failf("introspection says that the token is bound to the key %s, and the proof has the key %s", Quoted(key), r.prover.Thumbprint())
				}
			},
		},
		{
			ID: "RFC9449/5/token-type", Level: Must,
			Text:  "The token_type of such a token is DPoP.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				a := t.Granted(aProvenRequest(t).send()).Answer
				// RFC 6749 §5.1: the type has no case.
				if !strings.EqualFold(a.Text("token_type"), "DPoP") {
					t.Failf("token_type is %s, want DPoP", Quoted(a.JSON()["token_type"]))
				}
			},
		},
		{
			ID: "RFC9449/5/invalid-proof", Level: Must,
			Text:  "The error of a proof that is not accepted is invalid_dpop_proof.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aProvenRequest(t)
				t.Granted(r.send())
				t.WantError(r.send(heading("typ", "JWT")), "invalid_dpop_proof")
			},
		},
		{
			ID: "RFC9449/5/refresh-token-of-public-client", Level: Must,
			Text:  "The refresh token of a public client is bound to the key, and works only with a proof by it.",
			Needs: []Need{need.Public, need.User, need.Authorization, need.Token},
			Check: func(t *T) {
				c, p, other := t.Client(need.Public), t.Prover(), t.Prover()
				refresh := func(token string, as ...wire.Auth) *wire.Answer {
					return t.Token(c, wire.Params("grant_type", "refresh_token", "refresh_token", token), as...)
				}
				first := t.WithRefresh(c, t.Granted(redeemProven(t, t.Code(t.Request(c)), p)))
				again := t.Granted(refresh(first.Refresh, p.Proving(t.Endpoint(need.Token))))
				token := first.Refresh
				if again.Refresh != "" {
					token = again.Refresh
				}
				t.WantRefused(refresh(token), "the request had no proof")
				t.WantRefused(refresh(token, other.Proving(t.Endpoint(need.Token))), "the proof was by another key")
			},
		},
		{
			ID: "RFC9449/5.1/metadata", Level: May,
			Text: "The metadata lists the algorithms of proofs in dpop_signing_alg_values_supported.",
			Check: func(t *T) {
				m := publishedMetadata(t)
				const name = "dpop_signing_alg_values_supported"
				if list, is := m.List(name); !is || len(list) == 0 {
					t.Failf("%s is %s, want a list of algorithms", name, Quoted(m[name]))
				}
			},
		},
		{
			ID: "RFC9449/5.2/always", Level: Must,
			Text:  "A client that is registered with dpop_bound_access_tokens gets no tokens without a proof.",
			Needs: []Need{need.Token, need.Registration, need.Authorization, need.User},
			Check: func(t *T) {
				p, m := t.Prover(), plainClient(t)
				m["dpop_bound_access_tokens"] = true
				t.WithClient(m, func(made *check.Made) {
					if made.JSON()["dpop_bound_access_tokens"] != true {
						t.Skipf("the server did not register the client with dpop_bound_access_tokens")
					}
					c := registered(made)
					t.Granted(redeemProven(t, t.Code(registeredRequest(t, c, made)), p))
					t.WantRefused(t.Redeem(t.Code(registeredRequest(t, c, made))), "the request had no proof")
				})
			},
		},
		{
			ID: "RFC9449/6.1/jwt", Level: Must,
			Text:  "A JWT access token has the thumbprint of the key in jkt of cnf.",
			Needs: []Need{need.Token, need.JWT},
			Check: func(t *T) {
				p := t.Prover()
				j := accessJWT(t, signedTokens(t, p.Proving(t.Endpoint(need.Token))))
				if key := boundTo(j.Claims); key != p.Thumbprint() {
					t.Failf("cnf of the token is %s, want jkt with the value %s", Quoted(j.Claims["cnf"]), p.Thumbprint())
				}
			},
		},
		{
			ID: "RFC9449/6.2/introspection", Level: Must,
			Text:  "The introspection response for a token that is bound to a key has cnf with jkt, and the token_type DPoP if it has one.",
			Needs: []Need{need.Token, need.Introspection, need.Introspect},
			Check: func(t *T) {
				r := aProvenRequest(t)
				object := liveToken(t, t.Granted(r.send()).Access)
				if boundTo(object) == "" {
					t.Errorf("cnf of the response is %s, want an object with jkt", Quoted(object["cnf"]))
				}
				if kind, given := object["token_type"]; given && !strings.EqualFold(asText(kind), "DPoP") {
					t.Errorf("token_type of the response is %s, want DPoP", Quoted(kind))
				}
			},
		},
	}
}

// boundTo returns jkt of the member cnf (RFC 9449 §6.1), or "".
func boundTo(object map[string]any) string {
	cnf, _ := object["cnf"].(map[string]any)
	return asText(cnf["jkt"])
}

// rfc9449Nonce returns the rules about nonces (RFC 9449 §8).
func rfc9449Nonce() []Rule {
	return []Rule{
		{
			ID: "RFC9449/8/nonce-of-server", Level: May,
			Text:  "The server refuses a proof without a nonce of its own with the status 400 and use_dpop_nonce, and sends a nonce in DPoP-Nonce, with which the next proof is accepted.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aProvenRequest(t)
				a := r.send(claiming("nonce", nil))
				if !check.DemandsNonce(a) {
					t.Skipf("the rule applies to a server that demands nonces in proofs")
				}
				t.WantStatus(a, http.StatusBadRequest)
				if got := a.Header.Values("DPoP-Nonce"); len(got) != 1 || got[0] == "" {
					t.Errorf("the answer has %d nonces in DPoP-Nonce, want one", len(got))
				}
				t.WantGranted(r.send())
			},
		},
		{
			ID: "RFC9449/8/one-header", Level: Must,
			Text:  "A response has at most one header DPoP-Nonce.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aProvenRequest(t)
				good := t.Granted(r.send()).Answer
				for _, a := range []*wire.Answer{good, r.send(heading("typ", "JWT")), r.send(claiming("nonce", "conformance"))} {
					if n := len(a.Header.Values("DPoP-Nonce")); n > 1 {
						t.At(a)
						t.Errorf("the answer has the header DPoP-Nonce %d times", n)
					}
				}
			},
		},
		{
			ID: "RFC9449/8/unpredictable", Level: Must,
			Text:     "Nobody can predict a nonce.",
			TestedBy: "provider/dpop/nonce_test.go:TestNonces",
		},
		{
			ID: "RFC9449/8.2/next-nonce", Level: May,
			Text:     "A successful response brings a new nonce before the old one becomes invalid.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449Nonce",
		},
		{
			ID: "RFC9449/8.2/no-store", Level: Should,
			Text:     "A response with a nonce is not stored in a cache.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449Nonce",
		},
	}
}

// rfc9449Code returns the rules about codes that are bound to a key (RFC 9449 §10).
func rfc9449Code() []Rule {
	return []Rule{
		{
			ID: "RFC9449/10/code-bound", Level: Must,
			Text:  "A code that was requested with dpop_jkt is redeemed only with a proof by this key.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				p := t.Prover()
				wantCodeBound(t, p, func() *check.Code { return t.Code(t.Request(t.Client(need.Code)).Set("dpop_jkt", p.Thumbprint())) })
			},
		},
		{
			ID: "RFC9449/10.1/both-agree", Level: Must,
			Text:  "A pushed request with a proof and with dpop_jkt is refused if they name different keys.",
			Needs: pushNeeds(),
			Check: func(t *T) {
				p := t.Prover()
				t.Client(need.Code)
				push := func(key string) *wire.Answer {
					return pushProven(t, p, t.Request(t.Client(need.Code)).Set("dpop_jkt", key))
				}
				pushTaken(t, push(p.Thumbprint()))
				wantNotPushed(t, push(t.Prover().Thumbprint()), "dpop_jkt names another key than the proof")
			},
		},
		{
			ID: "RFC9449/10.1/header-binds", Level: Must,
			Text:  "The proof of a pushed request binds the code to its key, as dpop_jkt does.",
			Needs: pushNeeds(need.User, need.Token),
			Check: func(t *T) {
				p := t.Prover()
				wantCodeBound(t, p, func() *check.Code {
					r := t.Request(t.Client(need.Code))
					a := pushProven(t, p, r)
					if r.URI = a.Text("request_uri"); r.URI == "" {
						t.Blockedf("a pushed request with a proof is not accepted: %s", t.Failure(a))
					}
					return t.Code(r)
				})
			},
		},
	}
}

// pushProven pushes a request with a proof.
func pushProven(t *T, p *check.Prover, r *check.Request) *wire.Answer {
	address := t.Endpoint(need.PushedRequests)
	return t.Post(address, r.Params, r.Client.Credentials(), p.Proving(address))
}

// wantCodeBound asserts that the codes of a request are redeemed only with a proof by a key.
func wantCodeBound(t *T, p *check.Prover, code func() *check.Code) {
	t.Granted(redeemProven(t, code(), p))
	t.WantRefused(t.Redeem(code()), "the request had no proof, and the code is bound to a key")
	t.WantRefused(redeemProven(t, code(), t.Prover()), "the proof was by another key than that of the code")
}

// redeemProven sends the token request for a code, with a proof.
func redeemProven(t *T, c *check.Code, p *check.Prover) *wire.Answer {
	return t.Token(c.Request.Client, c.Form(), p.Proving(t.Endpoint(need.Token)))
}

// rfc9449Elsewhere returns the rules that no request of these checks shows.
func rfc9449Elsewhere() []Rule {
	return []Rule{
		{
			ID: "RFC9449/6/binding", Level: Must,
			Text:     "An API can find out whether a token is bound to a key, and to which one.",
			TestedBy: "handlers/resource/binding_test.go:TestBindingMatrix",
		},
	}
}
