package demo

import (
	"crypto"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"time"

	"mandate/conformance/need"
	"mandate/provider/clients"
	"mandate/provider/dpop"
	"mandate/provider/jose"
	"mandate/templates"
)

// proofAlgorithm signs everything that a site with a profile signs.
//
// FAPI 2.0 Security Profile §5.4.1: it is one of the three that are allowed.
const proofAlgorithm = "ES256"

// proofKeys are the keys of a site with a profile. Only this process has them.
type proofKeys struct {
	client keyPair // registered: it signs client assertions and request objects
	proof  keyPair // it signs DPoP proofs, and is registered nowhere
	thief  keyPair // of a person who has copied an access token of the site
}

type keyPair struct {
	private crypto.Signer
	public  jose.JWK
}

func newProofKeys() (*proofKeys, error) {
	k := &proofKeys{}
	for _, pair := range []*keyPair{&k.client, &k.proof, &k.thief} {
		var err error
		pair.private, err = jose.Generate(jose.KindOf(proofAlgorithm))
		if err != nil {
			return nil, err
		}
		pair.public, err = jose.NewJWK(pair.private.Public())
		if err != nil {
			return nil, err
		}
	}
	return k, nil
}

// register adds the profile and the registered key of a site to its registration.
func (s *webSite) register(r *clients.Registration) error {
	var err error
	s.keys, err = newProofKeys()
	if err != nil {
		return err
	}
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{s.keys.client.public}})
	r.Profile, r.Authentication.Method, r.Authentication.JWKS = s.profile, need.PrivateKeyJWT, string(set)
	return err
}

// assertion makes a client assertion (RFC 7523 §3), and shows it.
func (d *codeFlow) assertion() (string, templates.WalkToken, error) {
	now := time.Now().Unix()
	// RFC 7523 §3: iss and sub are the client. FAPI 2.0 Security Profile §5.3.2.1: aud is the issuer, as text.
	text, err := jose.Sign(proofAlgorithm, "client-authentication+jwt", d.site.keys.client.public.ID,
		d.site.keys.client.private, map[string]any{
			"iss": d.site.id, "sub": d.site.id, "aud": d.client.cast.issuer, "jti": rand.Text(), "iat": now, "exp": now + 60})
	return text, decoded(templates.WalkToken{Title: "The client assertion",
		Clause: "RFC 7523 §2.2, §3; FAPI 2.0 Security Profile §5.3.2.1",
		Text: "It proves to the server that the site sends this request: only the site has the private key whose public " +
			"key is registered. Without it, the server refuses the request with invalid_client."}, text,
		[]templates.Fact{
			{Name: "typ", Value: "What the JWT is for: client authentication, and nothing else (RFC 10070 §4)."},
			{Name: "alg", Value: "The algorithm of the signature. The server accepts only those that are registered for the " +
				"site."},
			{Name: "kid", Value: "Which of the registered keys of the site verifies the signature."},
			{Name: "iss", Value: "Who made the assertion: the client ID."},
			{Name: "sub", Value: "Who authenticates with it: the same client ID."},
			{Name: "aud", Value: "The issuer of this server. Another server that receives the assertion cannot use it here."},
			{Name: "jti", Value: "A random value. The server accepts it once, so that a copy is useless."},
			{Name: "iat", Value: "When the assertion was made, in seconds since 1970."},
			{Name: "exp", Value: "When the assertion expires: one minute after it was made."},
		}), err
}

// proof makes a DPoP proof for a request (RFC 9449 §4.2), and adds it to what the page says about
// it. token is the access token that the request presents, or "".
func (d *codeFlow) proof(about templates.WalkToken, by keyPair, to request, token string) (string,
	templates.WalkToken, error) {
	claims := map[string]any{"htm": to.method(), "htu": d.client.cast.base + to.path}
	if token != "" {
		claims["ath"] = dpop.TokenHash(token)
	}
	text, err := dpop.Make(proofAlgorithm, by.private, claims)
	return text, decoded(about, text, []templates.Fact{
		{Name: "typ", Value: "A DPoP proof, and no other kind of JWT."},
		{Name: "jwk", Value: "The public key that verifies this proof. Tokens are bound to its thumbprint."},
		{Name: "htm", Value: "The method of the request: the proof is for no other."},
		{Name: "htu", Value: "The URL of the request, without its query: the proof is for no other."},
		{Name: "ath", Value: "The hash of the access token that this request presents."},
		{Name: "jti", Value: "A random value. An API accepts a proof once."},
		{Name: "iat", Value: "When the proof was made. It is accepted for about a minute."},
	}), err
}

// requestObject signs the parameters of a request (RFC 9101 §4), and shows the result.
func (d *codeFlow) requestObject(parameters url.Values) (string, templates.WalkToken, error) {
	now := time.Now().Unix()
	// FAPI 2.0 Message Signing §5.3.1: nbf and exp are required.
	claims := map[string]any{"iss": d.site.id, "aud": d.client.cast.issuer, "nbf": now, "exp": now + 300}
	for name := range parameters {
		claims[name] = parameters.Get(name)
	}
	text, err := jose.Sign(proofAlgorithm, "oauth-authz-req+jwt", d.site.keys.client.public.ID,
		d.site.keys.client.private, claims)
	return text, decoded(templates.WalkToken{Title: "The request object",
		Clause: "RFC 9101 §4; FAPI 2.0 Message Signing §5.3.1",
		Text: "It proves to the server that the site has made exactly these parameters, and the server can keep it as " +
			"evidence. Without it, the server refuses the request of this site with invalid_request."}, text,
		[]templates.Fact{
			{Name: "typ", Value: "A request object, and no other kind of JWT."},
			{Name: "iss", Value: "Who made the request: the client ID."},
			{Name: "aud", Value: "The issuer of this server."},
			{Name: "nbf", Value: "The object is valid from this moment."},
			{Name: "exp", Value: "The object is valid until this moment."},
			{Name: "response_mode", Value: "The site asks for a signed response (JARM)."},
		}), err
}
