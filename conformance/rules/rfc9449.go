package rules

import (
	"net/http"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9449Token has the checks of the rules about tokens that are bound to a key (RFC 9449 §5, §6).
var rfc9449Token = checks{
	"RFC9449/5/bound": func(t *T) {
		r := aProvenRequest(t)
		if key := boundTo(liveToken(t, t.Granted(r.send()).Access)); key != r.prover.Thumbprint() {
			t.Failf("introspection says that the token is bound to the key %s, and the proof has the key %s", Quoted(key),
				r.prover.Thumbprint())
		}
	},
	"RFC9449/5/token-type": func(t *T) {
		a := t.Granted(aProvenRequest(t).send()).Answer
		// RFC 6749 §5.1: the type has no case.
		if !strings.EqualFold(a.Text("token_type"), "DPoP") {
			t.Failf("token_type is %s, want DPoP", Quoted(a.JSON()["token_type"]))
		}
	},
	"RFC9449/5/invalid-proof": func(t *T) {
		r := aProvenRequest(t)
		t.Granted(r.send())
		t.WantError(r.send(heading("typ", "JWT")), "invalid_dpop_proof")
	},
	"RFC9449/5/refresh-token-of-public-client": func(t *T) {
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
	"RFC9449/5.1/metadata": func(t *T) {
		m := publishedMetadata(t)
		const name = "dpop_signing_alg_values_supported"
		if list, is := m.List(name); !is || len(list) == 0 {
			t.Failf("%s is %s, want a list of algorithms", name, Quoted(m[name]))
		}
	},
	"RFC9449/5.2/always": func(t *T) {
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
	"RFC9449/6.1/jwt": func(t *T) {
		p := t.Prover()
		j := accessJWT(t, signedTokens(t, p.Proving(t.Endpoint(need.Token))))
		if key := boundTo(j.Claims); key != p.Thumbprint() {
			t.Failf("cnf of the token is %s, want jkt with the value %s", Quoted(j.Claims["cnf"]), p.Thumbprint())
		}
	},
	"RFC9449/6.2/introspection": func(t *T) {
		r := aProvenRequest(t)
		object := liveToken(t, t.Granted(r.send()).Access)
		if boundTo(object) == "" {
			t.Errorf("cnf of the response is %s, want an object with jkt", Quoted(object["cnf"]))
		}
		if kind, given := object["token_type"]; given && !strings.EqualFold(asText(kind), "DPoP") {
			t.Errorf("token_type of the response is %s, want DPoP", Quoted(kind))
		}
	},
}

// boundTo returns jkt of the member cnf (RFC 9449 §6.1), or "".
func boundTo(object map[string]any) string {
	cnf, _ := object["cnf"].(map[string]any)
	return asText(cnf["jkt"])
}

// rfc9449Nonce has the checks of the rules about nonces (RFC 9449 §8).
var rfc9449Nonce = checks{
	"RFC9449/8/nonce-of-server": func(t *T) {
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
	"RFC9449/8/one-header": func(t *T) {
		r := aProvenRequest(t)
		good := t.Granted(r.send()).Answer
		for _, a := range []*wire.Answer{good, r.send(heading("typ", "JWT")), r.send(claiming("nonce", "conformance"))} {
			if n := len(a.Header.Values("DPoP-Nonce")); n > 1 {
				t.At(a)
				t.Errorf("the answer has the header DPoP-Nonce %d times", n)
			}
		}
	},
}

// rfc9449Code has the checks of the rules about codes that are bound to a key (RFC 9449 §10).
var rfc9449Code = checks{
	"RFC9449/10/code-bound": func(t *T) {
		p := t.Prover()
		wantCodeBound(t, p, func() *check.Code {
			return t.Code(t.Request(t.Client(need.Code)).Set("dpop_jkt", p.Thumbprint()))
		})
	},
	"RFC9449/10.1/both-agree": func(t *T) {
		p := t.Prover()
		t.Client(need.Code)
		push := func(key string) *wire.Answer {
			return pushProven(t, p, t.Request(t.Client(need.Code)).Set("dpop_jkt", key))
		}
		pushTaken(t, push(p.Thumbprint()))
		wantNotPushed(t, push(t.Prover().Thumbprint()), "dpop_jkt names another key than the proof")
	},
	"RFC9449/10.1/header-binds": func(t *T) {
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
