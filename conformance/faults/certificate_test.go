package faults

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// certificateHeader is the field in which the proxy in front of this one passes the certificate of a client.
const certificateHeader = "Client-Cert"

// certificate returns the certificate of the sender, or nil.
func (q *ask) certificate() *x509.Certificate {
	der, err := base64.StdEncoding.DecodeString(strings.Trim(q.header.Get(certificateHeader), ":"))
	if err != nil {
		return nil
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil
	}
	return c
}

// present makes it a request with the certificate of a client.
func (q *ask) present(c *target.Client) {
	q.header.Del("Authorization")
	q.header.Set(certificateHeader, ":"+base64.StdEncoding.EncodeToString(c.Certificate.Certificate[0])+":")
}

// certificateFaults are faults of client authentication with certificates (RFC 8705).
func certificateFaults() []fault {
	of := func(p *proxy) *target.Client { return p.target.Clients[need.Certificate] }
	at := func(name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: tokenPath, apart: true, spoil: spoil, fails: fails}
	}
	// presenting accepts other certificates of the client, or none.
	presenting := func(is func(p *proxy, sent *x509.Certificate) bool) spoiler {
		return spoiling(func(p *proxy, q *ask) {
			if id, _ := q.client(); id == of(p).ID && is(p, q.certificate()) {
				q.present(of(p))
				q.set("client_id", id)
			}
		})
	}
	unknown := func() *wire.Answer { return refusal(http.StatusUnauthorized, "invalid_client") }
	certified := func(_ *proxy, q *ask) bool { return q.certificate() != nil }
	// confirming changes cnf of access tokens that are JWTs.
	confirming := func(cnf any) spoiler {
		return granting(func(a *wire.Answer) {
			edit(a, put("access_token", resign(a.Text("access_token"), saying("cnf", cnf))))
		})
	}
	return []fault{
		at("a certificate names its client", spoiling(func(p *proxy, q *ask) {
			if q.certificate() != nil && q.form().Get("client_id") == "" {
				q.set("client_id", of(p).ID)
			}
		}), "RFC8705/2/client-id"),
		at("a client needs no certificate", presenting(func(_ *proxy, sent *x509.Certificate) bool { return sent == nil }),
			"RFC8705/2/certificate-required"),
		at("any certificate of the authority is accepted", presenting(func(_ *proxy, sent *x509.Certificate) bool {
			return sent != nil && !bytes.Equal(sent.RawIssuer, sent.RawSubject)
		}), "RFC8705/2/certificate-of-client"),
		at("a certificate of another is invalid_grant", func(p *proxy, q *ask) *wire.Answer {
			if q.certificate() == nil {
				return p.real(q)
			}
			return miscalling("invalid_client", "invalid_grant")(p, q)
		}, "RFC8705/2/invalid-client"),
		at("a certificate may sign itself", presenting(func(_ *proxy, sent *x509.Certificate) bool {
			return sent != nil && bytes.Equal(sent.RawIssuer, sent.RawSubject)
		}), "RFC8705/2.1/authority"),
		{name: "the metadata does not list tls_client_auth", spoil: publishing(func(object map[string]any) {
			const name = "token_endpoint_auth_methods_supported"
			methods, _ := object[name].([]any)
			object[name] = slices.DeleteFunc(methods, func(method any) bool { return method == need.CertificateAuth })
		}), fails: "RFC8705/2.1.1/method-listed", apart: true},
		{name: "the aliases are a list", spoil: publishing(put("mtls_endpoint_aliases", []any{"https://alias.example"})),
			fails: "RFC8705/5/aliases", apart: true},
		{name: "an alias has no https", spoil: publishing(func(object map[string]any) {
			aliases, _ := object["mtls_endpoint_aliases"].(map[string]any)
			aliases["revocation_endpoint"] = "http://alias.example/revoke"
		}), fails: "RFC8705/5/aliases", apart: true},
		{name: "introspection does not say what a token is bound to", at: introspectPath, apart: true, certified: true,
			spoil: answering(func(a *wire.Answer) { edit(a, put("cnf", nil)) }),
			fails: "RFC8705/3/bound-at-server RFC8705/3.2/introspection FAPI2/5.3.2.1/sender-constrained"},
		{name: "the resource ignores certificates", at: resourcePath, apart: true, certified: true,
			spoil: refusingIf(func(p *proxy, q *ask) bool { return p.has("token " + q.presented()) }, got),
			fails: "RFC8705/3/same-certificate FAPI2/5.3.4/sender-constrained", blocks: "RFC8705/3/invalid-token"},
		{name: "a token with another certificate is forbidden", at: resourcePath, apart: true,
			spoil: refusing(status(http.StatusForbidden)), fails: "RFC8705/3/invalid-token"},
		at("an access token does not have its certificate", confirming(nil), "RFC8705/3.1/jwt"),
		at("x5t#S256 of an access token is another digest",
			confirming(map[string]any{"x5t#S256": check.TokenDigest("another certificate")}), "RFC8705/3.1/thumbprint"),
		at("a refresh token needs no certificate", func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Status == http.StatusBadRequest && q.form().Get("grant_type") == "refresh_token" {
				return issued()
			}
			return a
		}, "RFC8705/4/refresh-token-of-public-client"),
		{name: "introspection knows no certificates", at: introspectPath, apart: true, spoil: refusingIf(certified, unknown),
			fails: "RFC8705/5/alias-works"},
	}
}
