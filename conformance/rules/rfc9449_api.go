package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// boundAccess is an access token that is bound to a key, at a resource that accepts it.
type boundAccess struct {
	guarded
	prover *check.Prover
	access string
}

// get sends a request with the token and a proof.
func (b boundAccess) get(altered ...check.Altered) *wire.Answer {
	return b.t.Get(b.url, b.prover.Presenting(b.url, b.access, altered...))
}

// boundAtAPI returns a token that the api accepts with a proof. If the api does not take DPoP, the check is skipped.
func boundAtAPI(t *T) boundAccess {
	r := aProvenRequest(t)
	b := boundAccess{*protectedAPI(t), r.prover, t.Granted(r.send()).Access}
	a := b.get()
	switch {
	case b.accepted(a):
		return b
	case !slices.ContainsFunc(challengesOf(t.Get(b.url)), isDPoP):
		t.Skipf("the rule needs an api that accepts DPoP: its challenges do not name the scheme DPoP")
	}
	t.At(a)
	b.refused(a)
	return b
}

func isDPoP(c challenge) bool { return strings.EqualFold(c.scheme, "DPoP") }

// wantKeptAll asserts that the resource refuses each of the bad proofs, and checks that a good one
// is accepted afterwards.
func (b boundAccess) wantKeptAll(all ...badProof) {
	proof := func(altered ...check.Altered) string {
		return b.prover.Proof(http.MethodGet, b.url, b.access, altered...)
	}
	for _, bad := range all {
		as := []wire.Auth{wire.Header("Authorization", "DPoP "+b.access)}
		for _, text := range bad.as(b.prover, proof) {
			as = append(as, sendingProof(text))
		}
		b.wantKept(b.t.Get(b.url, as...), bad.why)
	}
	if a := b.get(); !b.accepted(a) {
		b.t.At(a)
		b.t.Blockedf("the api answers %s to a good proof after some bad ones", a)
	}
}

// rfc9449API has the checks of the rules about an API (RFC 9449 §7, §9, §11).
var rfc9449API = checks{
	"RFC9449/4.3/token": func(t *T) {
		boundAtAPI(t).wantKeptAll(altering("the proof had no ath", claiming("ath", nil)),
			altering("ath was the digest of another token", claiming("ath", check.TokenDigest(t.Random()))))
	},
	"RFC9449/7/bound-key": func(t *T) {
		b := boundAtAPI(t)
		b.wantKept(t.Get(b.url, t.Prover().Presenting(b.url, b.access)),
			"the proof was by another key than that of the token")
	},
	"RFC9449/7/not-unbound": func(t *T) {
		b := boundAtAPI(t)
		b.wantKept(t.Get(b.url, b.prover.Presenting(b.url, someTokens(t).Access)), "the token is bound to no key")
	},
	"RFC9449/7.1/scheme": func(t *T) {
		b := boundAtAPI(t)
		for _, scheme := range []string{"dpop", "DPOP"} {
			if a := t.Get(b.url, b.prover.Presenting(b.url, b.access),
				setting("Authorization", scheme+" "+b.access)); !b.accepted(a) {
				t.At(a)
				t.Errorf("the scheme %s is refused: %s", scheme, a)
			}
		}
	},
	"RFC9449/7.1/not-without-proof": func(t *T) {
		b := boundAtAPI(t)
		none := badProof{"the request had no proof", func(*check.Prover, func(...check.Altered) string) []string {
			return nil
		}}
		b.wantKeptAll(slices.Concat([]badProof{none}, missing(), wrongProofs(), notAsymmetric(), ofAnother(b.url),
			untimely())...)
	},
	"RFC9449/7.1/normalized": func(t *T) {
		b := boundAtAPI(t)
		for _, spelt := range spellings(b.url) {
			if a := b.get(claiming("htu", spelt)); !b.accepted(a) {
				t.At(a)
				t.Errorf("a proof with the htu %s is refused: %s", spelt, a)
			}
		}
	},
	"RFC9449/7.1/challenge": func(t *T) {
		b := boundAtAPI(t)
		a := b.get(heading("typ", "JWT"))
		if b.accepted(a) {
			t.Blockedf("a proof that is wrong on purpose is accepted")
		}
		t.WantStatus(a, http.StatusUnauthorized)
		all := challengesOf(a)
		i := slices.IndexFunc(all, isDPoP)
		if i < 0 || !slices.Equal(all[i].params["error"], []string{"invalid_dpop_proof"}) {
			t.Errorf("WWW-Authenticate is %q, want the scheme DPoP with the error invalid_dpop_proof",
				a.Header.Values("WWW-Authenticate"))
		}
	},
	"RFC9449/7.1/userinfo": func(t *T) {
		p, address := t.Prover(), t.Endpoint(need.UserInfo)
		access := t.Granted(redeemProven(t, t.Code(t.OpenID(t.Client(need.Code))), p)).Access
		b := boundAccess{guarded{t, address, false}, p, access}
		if a := b.get(); a.Status != http.StatusOK {
			t.Failf("a token with its proof is answered with %s", a)
		}
		b.wantKept(t.Get(address, wire.Bearer(access)), "the request had no proof, and the scheme Bearer")
		b.wantKept(t.Get(address, t.Prover().Presenting(address, access)),
			"the proof was by another key than that of the token")
		b.wantKept(b.get(claiming("ath", nil)), "the proof had no ath")
	},
	"RFC9449/7.2/not-bearer": func(t *T) {
		b := boundAtAPI(t)
		b.wantKept(t.Get(b.url, wire.Bearer(b.access)), "a token that is bound to a key came with the scheme Bearer")
		b.wantKept(t.Get(b.url, b.prover.Presenting(b.url, b.access), setting("Authorization", "Bearer "+b.access)),
			"a token that is bound to a key came with the scheme Bearer and a proof")
	},
	"RFC9449/7.2/both-challenges": func(t *T) {
		b := boundAtAPI(t)
		if a := t.Get(b.url, wire.Bearer(someTokens(t).Access)); !b.accepted(a) {
			t.Skipf("the rule applies to an api that accepts bearer tokens too, and this one answers %s", a)
		}
		a := t.Get(b.url)
		if all := challengesOf(a); !slices.ContainsFunc(all, isDPoP) || !slices.ContainsFunc(all, isBearer) {
			t.Failf("WWW-Authenticate is %q, want challenges of Bearer and of DPoP", a.Header.Values("WWW-Authenticate"))
		}
	},
	"RFC9449/9/use-nonce": func(t *T) {
		b := boundAtAPI(t)
		a := b.get(claiming("nonce", nil))
		if b.accepted(a) {
			t.Skipf("the rule applies to an api that demands nonces in proofs")
		}
		t.WantStatus(a, http.StatusUnauthorized)
		if got := a.Header.Values("DPoP-Nonce"); len(got) != 1 || !check.DemandsNonce(a) {
			t.Errorf("WWW-Authenticate is %q, and DPoP-Nonce is %q, want use_dpop_nonce and one nonce",
				a.Header.Values("WWW-Authenticate"), got)
		}
	},
	"RFC9449/11.1/once": func(t *T) {
		b := boundAtAPI(t)
		same := []wire.Auth{wire.Header("Authorization", "DPoP "+b.access),
			sendingProof(b.prover.Proof(http.MethodGet, b.url, b.access))}
		if a := t.Get(b.url, same...); !b.accepted(a) {
			b.refused(a)
		}
		b.wantKept(t.Get(b.url, same...), "the proof had been used")
	},
}

// setting replaces a header field.
func setting(name, value string) wire.Auth {
	return func(header http.Header, _ url.Values) { header.Set(name, value) }
}
