package registration

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/authority"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/storage"
)

// maxStatementBytes is the size of the largest software statement.
const maxStatementBytes = 16 << 10

// statementLeeway is how far the clock of an issuer may differ from this server's, in
// seconds.
const statementLeeway = 60

// StatementIssuer is an issuer whose software statements the operator trusts (RFC 7591
// §2.3).
type StatementIssuer struct {
	// Issuer is the claim `iss` of its statements, character by character.
	Issuer string `key:"ISSUER" default:""`
	// Keys contains the public keys of the issuer, as the text of a JWK Set (RFC 7517 §5). Set either this or
	// `JWKS_URI`.
	Keys string `key:"JWKS" default:""`
	// KeysURI is the `https` URL of its public keys. The server uses them for five minutes without a new request, and
	// for an hour if no request succeeds.
	//
	// An address in a special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	KeysURI string `key:"JWKS_URI" default:""`
}

// Check returns what is wrong with the issuer.
func (i StatementIssuer) Check() []oauth.FieldError {
	found := &oauth.Invalid{}
	if i.Issuer == "" || strings.ContainsFunc(i.Issuer, func(r rune) bool { return r <= ' ' || r > '~' }) {
		found.Add("issuer", "needs ISSUER: the value of iss in its statements, without spaces")
	}
	switch {
	case i.Keys == "" && i.KeysURI == "":
		found.Add("jwks", "needs the public keys of the issuer: set JWKS, or their https URL as JWKS_URI")
	case i.Keys != "" && i.KeysURI != "":
		found.Add("jwks", "has a second source of keys in JWKS_URI; keep one")
	case i.Keys != "":
		err := metadata.CheckKeys("jwks", []byte(i.Keys))
		if wrong, is := errors.AsType[*metadata.Error](err); is {
			found.Add("jwks", "%s", wrong.Problem)
		} else if !slices.ContainsFunc(i.keys().Keys, func(k jose.JWK) bool { return k.Public() != nil }) {
			found.Add("jwks", "has no key that can verify a signature: it needs an RSA key of at least 2048 bits, an EC key "+
				"on P-256, or an Ed25519 key")
		}
	default:
		u, err := url.Parse(i.KeysURI)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
			found.Add("jwks_uri", "must be an https URL without credentials and fragment: whoever can change the keys in "+
				"transit can sign any statement")
		} else if wrong := authority.Check(i.KeysURI); wrong != "" {
			found.Add("jwks_uri", "%s", wrong)
		}
	}
	return found.Fields
}

// keys returns the keys of the setting. It was checked when the server started.
func (i StatementIssuer) keys() jose.JWKSet {
	set, err := jose.ParseSet([]byte(i.Keys))
	if err != nil {
		return jose.JWKSet{}
	}
	return set
}

// statementIssuer is an issuer with its parsed keys.
type statementIssuer struct {
	StatementIssuer
	set jose.JWKSet
}

func statementIssuers(configured []StatementIssuer) map[string]statementIssuer {
	issuers := map[string]statementIssuer{}
	for _, i := range configured {
		issuers[i.Issuer] = statementIssuer{i, i.keys()}
	}
	return issuers
}

// readStatement returns the claims of a software statement whose issuer the operator trusts
// (RFC 7591 §2.3). The errors are those of RFC 7591 §3.2.2.
func (p *Registrations) readStatement(ctx context.Context, statement string) ([]byte, error) {
	switch {
	case strings.Count(statement, ".") != 2:
		return nil, invalidStatement("must be a signed JWT")
	case len(p.issuers) == 0:
		return nil, unapproved("This server trusts no issuer of software statements: leave software_statement out, and " +
			"send its values as metadata.")
	case len(statement) > maxStatementBytes:
		return nil, invalidStatement("must be at most %d bytes long", maxStatementBytes)
	}
	why := error(invalidStatement("must be a JWT whose header has an alg of %s, the typ JWT or none, and no crit",
		strings.Join(jose.Algorithms(), ", ")))
	raw, err := jose.Verifier{
		Algorithms: jose.Algorithms(),
		// RFC 8725 §3.11: an access token, a logout token or a DPoP proof of the same issuer
		// has a typ of its own, and is no statement.
		Types: []string{"", "jwt"},
		Keys: func(h jose.Header, unverified []byte) ([]any, error) {
			var keys []any
			var err error
			keys, why, err = p.statementKeys(ctx, h, unverified)
			return keys, err
		},
	}.Verify(statement)
	if errors.Is(err, jose.ErrInvalid) {
		return nil, why
	}
	if err != nil {
		return nil, err
	}
	return raw, p.checkStatementClaims(raw)
}

// statementKeys returns the keys of the issuer that a statement names, and the error for a
// statement that none of them has signed.
func (p *Registrations) statementKeys(ctx context.Context, h jose.Header, unverified []byte) ([]any, error, error) {
	claims, err := jose.ParseClaims(unverified)
	if err != nil {
		return nil, invalidStatement("must have a JSON object as its claims"), jose.ErrInvalid
	}
	name := claims.Text("iss")
	// RFC 7591 §2.3: iss names the party that attests to the claims.
	if name == "" {
		return nil, invalidStatement("must have the claim iss"), jose.ErrInvalid
	}
	issuer, trusted := p.issuers[name]
	if !trusted {
		return nil, unapproved("This server does not trust the issuer of the software statement, %s: use a statement of "+
			"another issuer, or leave it out.", oauth.Clip(name, 200)), jose.ErrInvalid
	}
	keys := issuer.set.For(h)
	if issuer.KeysURI != "" {
		keys, err = p.keysets.Keys(ctx, issuer.KeysURI, h)
	}
	switch {
	case errors.Is(err, jose.ErrInvalid), err == nil && keys == nil:
		return nil, invalidStatement("has the kid %s and the alg %s, for which its issuer has no key",
			oauth.Clip(h.KeyID, 100), h.Algorithm), jose.ErrInvalid
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, oauth.Later(http.StatusServiceUnavailable, 10*time.Second,
			"This server cannot read the keys of the issuer of the software statement now. Try again in a moment.").Because(err)
	}
	return keys, invalidStatement("has a signature that does not match the key of its issuer"), nil
}

// checkStatementClaims checks the claims that limit where and when a statement is valid.
func (p *Registrations) checkStatementClaims(raw []byte) error {
	claims, err := jose.ParseClaims(raw)
	if err != nil {
		return invalidStatement("must have a JSON object as its claims")
	}
	now := oauth.Now()
	for _, name := range []string{"exp", "nbf", "iat"} {
		at, is := claims.Time(name)
		switch _, present := claims[name]; {
		case !present:
		case !is:
			return invalidStatement("has the claim %s, which must be a time in seconds", name)
		// RFC 7519 §4.1.4
		case name == "exp" && now >= at+statementLeeway:
			return invalidStatement("has expired: get a new one from its issuer")
		// RFC 7519 §4.1.5. A statement from the future has no meaning either.
		case name != "exp" && now < at-statementLeeway:
			return invalidStatement("is not valid yet: its claim %s is in the future", name)
		}
	}
	// RFC 7519 §4.1.3: a JWT for others is refused. An ID token of the same issuer is one.
	own := func(audience string) bool { return audience == p.config.Issuer || audience == p.config.URL }
	if _, present := claims["aud"]; present && !slices.ContainsFunc(claims.Audience(), own) {
		return invalidStatement("is for others: leave aud out of it, or name %s there", p.config.Issuer)
	}
	return nil
}

func invalidStatement(format string, args ...any) *oauth.Error {
	return oauth.Refuse("invalid_software_statement", "The software_statement "+format+".", args...)
}

func unapproved(format string, args ...any) *oauth.Error {
	return oauth.Refuse("unapproved_software_statement", format, args...)
}

// Statement is what the server says about the software statement of an application.
type Statement struct {
	Issuer string // "": it has none of an issuer that the operator trusts now
	// Identity: the issuer vouches for the present name and for all redirect URIs. Otherwise
	// a stranger may have combined a statement, which is no secret, with an address of his own
	// (RFC 7591 §5).
	Identity bool
}

// StatementOf returns what the server says about the software statement of an application.
// The signature was verified when the application registered.
func (p *Registrations) StatementOf(a storage.Application) Statement {
	if a.Origin != storage.FromRegistration {
		return Statement{}
	}
	parts := strings.Split(clients.MetadataOf(a).SoftwareStatement, ".")
	if len(parts) != 3 {
		return Statement{}
	}
	raw, err := jose.Decode(parts[1])
	var claims struct {
		Issuer       string   `json:"iss"`
		Name         string   `json:"client_name"`
		RedirectURIs []string `json:"redirect_uris"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return Statement{}
	}
	if _, trusted := p.issuers[claims.Issuer]; !trusted {
		return Statement{}
	}
	present := oauth.Lines(a.RedirectURIs)
	others := slices.ContainsFunc(present, func(uri string) bool { return !slices.Contains(claims.RedirectURIs, uri) })
	return Statement{claims.Issuer, len(present) > 0 && !others && a.Name != "" &&
		a.Name == strings.TrimSpace(claims.Name)}
}
