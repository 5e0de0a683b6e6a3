package command

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/acr"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/provider/possession"
)

// authFlags are the flags for the client authentication of an application.
type authFlags struct {
	said                     clients.Authentication
	subjects                 []string
	constraint, profile, acr string
	defaultACR               string
	rotation, claims, pkce   string
	file                     string
	pushed                   bool
	algorithm, introspection string
}

func (a *authFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(
		&a.said.Method, "auth-method", "",
		"`METHOD` by which it authenticates: "+strings.Join(
			clientauth.MethodNames(true), ", ",
		)+" (default: its secret, by client_secret_basic or client_secret_post)",
	)
	f.StringVar(
		&a.said.Algorithm, "auth-algorithm", "",
		"the only `ALGORITHM` of its client assertions: "+strings.Join(
			clientauth.AssertionAlgorithms(), ", ",
		)+" (default: any that the method allows)",
	)
	f.StringVar(&a.file, "jwks", "", "`FILE` with its public keys, a JWK Set")
	f.StringVar(&a.said.JWKSURI, "jwks-uri", "", "`URI` of its public keys, a JWK Set")
	f.StringArrayVar(
		&a.subjects, "certificate-subject", nil,
		"`SUBJECT` of its certificate, such as san_dns=client.example; also subject_dn, san_uri, san_ip and san_email (RFC 8705); it sets tls_client_auth",
	)
	f.StringVar(
		&a.profile, "profile", "",
		"`PROFILE` that it switches on: "+strings.Join(
			policy.Profiles(), ", ",
		)+" (FAPI 2.0); the empty text switches it off (default: none)",
	)
	f.StringVar(
		&a.acr, "required-acr", "",
		"the weakest login (`ACR`) with which a person may approve it: "+strings.Join(
			acr.Values(), ", ",
		)+"; the empty text allows any (default: any)",
	)
	f.StringVar(
		&a.defaultACR, "default-acr-values", "",
		"the logins (`ACR`, the preferred one first, with spaces between) for its requests that name none (OIDC Registration, default_acr_values); the empty text: any (default: any)",
	)
	f.StringVar(
		&a.constraint, "sender-constraint", "",
		"the `PROOF` that its tokens always need: "+possession.DPoP+" (RFC 9449), or "+possession.Certificate+" (RFC 8705); default: none, but with a DPoP proof it gets DPoP tokens",
	)
	f.StringVar(
		&a.rotation, "refresh-rotation", "",
		"whether a refresh token is replaced when it is used: `on or off`; the empty text: as ROTATE_REFRESH_TOKEN says (default: the same)",
	)
	f.StringVar(
		&a.claims, "claims-in-id-token", "",
		"whether its ID tokens have the claims of the granted scopes: `on or off`; the empty text: on for a confidential application for which an administrator or the operator is responsible, without a profile, and off for others (default: the same)",
	)
	f.StringVar(
		&a.pkce, "pkce", "",
		"whether each authorization request needs a code challenge: `"+strings.Join(
			policy.PKCEValues(), " or ",
		)+"`; the empty text: as PKCE_REQUIRED says (default: the same)",
	)
	f.BoolVar(
		&a.pushed, "require-pushed-requests", false, "refuse its authorization requests that it did not push (RFC 9126)",
	)
	f.StringVar(
		&a.algorithm, "algorithm", "",
		"`ALGORITHM` that signs its ID tokens and its JWT access tokens: "+strings.Join(
			jose.Algorithms(), ", ",
		)+", or HS256 (ID tokens only) (default: "+policy.DefaultAlgorithm+")",
	)
	f.StringVar(
		&a.introspection, "introspection-algorithm", "",
		"`ALGORITHM` that signs the introspection responses that it asks for as a JWT (RFC 9701): "+strings.Join(
			jose.Algorithms(), ", ",
		)+" (default: "+policy.DefaultAlgorithm+")",
	)
	f.BoolVar(
		&a.said.EndpointAudience, "assertion-audience-endpoints", false,
		"accept client assertions whose aud is the address of an endpoint; for older client libraries",
	)
}

// saidBy names the fields whose flags are present.
func saidBy(c *cobra.Command) []string {
	var said []string
	for field, flag := range flagOf {
		if c.Flags().Changed(strings.TrimPrefix(flag, "--")) {
			said = append(said, field)
		}
	}
	return said
}

// read sets the values whose flags are present.
func (a *authFlags) read(c *cobra.Command, r *clients.Registration) error {
	changed, into := c.Flags().Changed, &r.Authentication
	r.Said = saidBy(c)
	for _, one := range []struct {
		flag, said string
		field      *string
	}{
		{"sender-constraint", a.constraint, &r.SenderConstraint},
		{"profile", a.profile, &r.Profile},
		{"required-acr", a.acr, &r.RequiredACR},
		{"default-acr-values", a.defaultACR, &r.DefaultACR},
		{"refresh-rotation", a.rotation, &r.RefreshRotation},
		{"claims-in-id-token", a.claims, &r.ClaimsInIDToken},
		{"pkce", a.pkce, &r.PKCE},
		{"algorithm", a.algorithm, &r.Algorithm},
		{"introspection-algorithm", a.introspection, &r.IntrospectionAlgorithm},
	} {
		if changed(one.flag) {
			*one.field = one.said
		}
	}
	if changed("require-pushed-requests") {
		r.RequirePushed = a.pushed
	}
	err := a.readKeys()
	if err != nil {
		return err
	}
	if changed("auth-method") {
		if into.Method != a.said.Method {
			into.Algorithm = ""
		}
		into.Method = a.said.Method
		if into.Method != clientauth.MethodCertificate {
			into.CertificateSubject = ""
		}
	}
	if changed("certificate-subject") {
		// RFC 8705 §2.1.2: exactly one.
		if len(a.subjects) > 1 {
			return errors.New("--certificate-subject: name one subject only")
		}
		into.CertificateSubject = a.subjects[0]
		if !changed("auth-method") {
			into.Method, into.Algorithm = clientauth.MethodCertificate, ""
		}
	}
	if changed("auth-algorithm") {
		into.Algorithm = a.said.Algorithm
	}
	// New keys replace an address, and a new address replaces keys, unless both are named.
	if changed("jwks") {
		into.JWKS, into.JWKSURI = a.said.JWKS, ""
	}
	if changed("jwks-uri") {
		into.JWKSURI = a.said.JWKSURI
		if !changed("jwks") {
			into.JWKS = ""
		}
	}
	if changed("assertion-audience-endpoints") {
		into.EndpointAudience = a.said.EndpointAudience
	}
	return nil
}

// readKeys reads the file of --jwks. The empty text names none.
func (a *authFlags) readKeys() error {
	if a.file == "" {
		return nil
	}
	text, err := os.ReadFile(a.file)
	if err != nil {
		return errors.New("--jwks: " + err.Error())
	}
	// It stays on this computer: nothing was sent, so the key is still secret.
	if clients.HoldsPrivateKey(string(text)) {
		return errors.New("--jwks: " + a.file + " is a private key: name the JWK Set with the public key")
	}
	a.said.JWKS = string(text)
	return nil
}
