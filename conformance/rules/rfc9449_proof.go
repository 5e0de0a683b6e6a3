package rules

import (
	"maps"
	"net/url"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// heading returns a proof with another member of its header, and claiming one with another claim. nil removes it.
func heading(name string, value any) check.Altered {
	return check.Altered{Header: map[string]any{name: value}}
}

func claiming(name string, value any) check.Altered {
	return check.Altered{Claims: map[string]any{name: value}}
}

// provenRequest is a token request that the server is expected to grant if its proof is good.
type provenRequest struct {
	tokenRequest
	t       *T
	prover  *check.Prover
	address string
}

func aProvenRequest(t *T) provenRequest {
	p := t.Prover()
	return provenRequest{aTokenRequest(t), t, p, t.Endpoint(need.Token)}
}

// send sends the request with a proof.
func (r provenRequest) send(altered ...check.Altered) *wire.Answer {
	return r.with(r.prover.Proving(r.address, altered...))
}

// with sends the request with any headers.
func (r provenRequest) with(as ...wire.Auth) *wire.Answer {
	return r.t.Token(r.client, r.fresh(), as...)
}

// sendingProof returns a header with a text.
func sendingProof(text string) wire.Auth { return wire.Header("DPoP", text) }

// badProof is a proof that is wrong in one place.
type badProof struct {
	why string
	as  func(p *check.Prover, proof func(altered ...check.Altered) string) []string
}

// altering returns a proof that is wrong in one member.
func altering(why string, altered check.Altered) badProof {
	return badProof{why, func(_ *check.Prover, proof func(...check.Altered) string) []string {
		return []string{proof(altered)}
	}}
}

// missing are proofs without a member that each proof has (RFC 9449 §4.2).
func missing() []badProof {
	return []badProof{
		altering("the proof had no typ", heading("typ", nil)),
		altering("the proof had no alg", heading("alg", nil)),
		altering("the proof had no jwk", heading("jwk", nil)),
		altering("the proof had no jti", claiming("jti", nil)),
		altering("the proof had no htm", claiming("htm", nil)),
		altering("the proof had no htu", claiming("htu", nil)),
		altering("the proof had no iat", claiming("iat", nil)),
	}
}

// wrongProofs are headers that are not one signed proof (RFC 9449 §4.3).
func wrongProofs() []badProof {
	return []badProof{
		{"the request had two headers DPoP", func(_ *check.Prover, proof func(...check.Altered) string) []string {
			return []string{proof(), proof()}
		}},
		{"the header was no JWT", func(*check.Prover, func(...check.Altered) string) []string {
			return []string{"conformance"}
		}},
		altering("typ was JWT", heading("typ", "JWT")),
		{"the signature was altered", func(_ *check.Prover, proof func(...check.Altered) string) []string {
			return []string{jose.Altered(proof())[0]}
		}},
		{"the jwk was that of another key", func(p *check.Prover, proof func(...check.Altered) string) []string {
			return []string{proof(heading("jwk", jose.NewKey(p.Key.Algorithm).Bare()))}
		}},
		{"the jwk had the private key", func(p *check.Prover, proof func(...check.Altered) string) []string {
			return []string{proof(heading("jwk", p.Key.Private()))}
		}},
	}
}

// notAsymmetric are proofs without a signature of a private key (RFC 9449 §11.6).
func notAsymmetric() []badProof {
	return []badProof{
		{"the proof had alg none", func(_ *check.Prover, proof func(...check.Altered) string) []string {
			j, _ := jose.Read(proof()) // it was signed
			header := maps.Clone(j.Header)
			header["alg"] = "none"
			return []string{jose.Encoded(header) + "." + jose.Encoded(j.Claims) + "."}
		}},
		{"the proof had an HMAC with the public key", func(p *check.Prover, proof func(...check.Altered) string) []string {
			j, _ := jose.Read(proof())
			header := map[string]any{"typ": j.Header["typ"], "jwk": j.Header["jwk"], "kid": nil}
			return []string{p.Key.Misused()[0].Sign(header, j.Claims)}
		}},
	}
}

// ofAnother are proofs for another request than one to an address (RFC 9449 §4.3).
func ofAnother(address string) []badProof {
	return []badProof{
		altering("htm was another method", claiming("htm", "PUT")),
		altering("htu had another path", claiming("htu", address+"/conformance")),
		altering("htu had another host",
			claiming("htu", "https://other.example/"+strings.TrimLeft(wire.ParseURL(address).Path, "/"))),
	}
}

// untimely are proofs that were made at another time (RFC 9449 §11.1).
func untimely() []badProof {
	now := time.Now().Unix()
	return []badProof{
		altering("the proof was an hour old", claiming("iat", now-3600)),
		altering("the proof was made an hour ahead", claiming("iat", now+3600)),
	}
}

// wantBadProofs asserts that a token request with each of these proofs is refused.
func wantBadProofs(t *T, all ...badProof) {
	r := aProvenRequest(t)
	t.Granted(r.send())
	proof := func(altered ...check.Altered) string { return r.prover.Proof("POST", r.address, "", altered...) }
	for _, bad := range all {
		var as []wire.Auth
		for _, text := range bad.as(r.prover, proof) {
			as = append(as, sendingProof(text))
		}
		t.WantRefused(r.with(as...), bad.why)
	}
}

// rfc9449Proof has the checks of the rules about proofs (RFC 9449 §4, §11), which are checked at the token endpoint.
var rfc9449Proof = checks{
	"RFC9449/4.2/claims":  func(t *T) { wantBadProofs(t, missing()...) },
	"RFC9449/4.3/checks":  func(t *T) { wantBadProofs(t, wrongProofs()...) },
	"RFC9449/4.3/request": func(t *T) { wantBadProofs(t, ofAnother(t.Endpoint(need.Token))...) },
	"RFC9449/4.3/normalized": func(t *T) {
		r := aProvenRequest(t)
		t.Granted(r.send())
		for _, spelt := range spellings(r.address) {
			if a := r.send(claiming("htu", spelt)); !a.Granted() {
				t.At(a)
				t.Errorf("a proof with the htu %s is refused: %s", spelt, a.Failure())
			}
		}
	},
	"RFC9449/4.2/other-claims": func(t *T) {
		r := aProvenRequest(t)
		t.Granted(r.send())
		t.WantGranted(r.send(claiming("conformance", map[string]any{"a": 1})))
	},
	"RFC9449/11.1/short-time": func(t *T) { wantBadProofs(t, untimely()...) },
	"RFC9449/11.1/once-for-tokens": func(t *T) {
		r := aProvenRequest(t)
		t.Granted(r.send()) // a server that demands a nonce has sent it now
		same := sendingProof(r.prover.Proof("POST", r.address, ""))
		t.Granted(r.with(same))
		t.WantRefused(r.with(same), "the proof had been used")
	},
	"RFC9449/11.6/signature-algorithms": func(t *T) { wantBadProofs(t, notAsymmetric()...) },
}

// spellings returns further ways to write an address.
func spellings(address string) []string {
	u := wire.ParseURL(address)
	all := []string{address + "?a=b#c", strings.ToUpper(u.Scheme) + "://" + strings.ToUpper(u.Host) + u.EscapedPath()}
	if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; u.Port() == "" {
		with := url.URL{Scheme: u.Scheme, Host: u.Host + port, Path: u.Path, RawPath: u.RawPath}
		all = append(all, with.String())
	}
	return all
}
