package clientauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/keysets"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// AssertionType is the client_assertion_type of a JWT (RFC 7523 §2.2).
const AssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// assertion is what is known about one while it is checked.
type assertion struct {
	sent     credentials
	endpoint string // to which the request goes, such as token
	how      manner

	claims    jose.Claims          // which verifyAssertion verifies
	client    *storage.Application // that it names, if it exists
	kind      string               // the typ of its header
	algorithm string
	keyID     string // of the key with which it was signed, as it is registered
	secret    string // with which it was signed
	cause     error  // why there is no key, or none that fits; for the log
}

// readAssertion reads the parameters of RFC 7521 §4.2.
func readAssertion(_ http.Header, form url.Values) (credentials, error) {
	switch {
	// RFC 7523 §2.2: this is the only type.
	case form.Get("client_assertion_type") != AssertionType:
		return credentials{}, invalidClient("client_assertion_type must be %s.", oauth.Own(AssertionType))
	case form.Get("client_assertion") == "":
		return credentials{},
			invalidClient("client_assertion is missing: it is the JWT that client_assertion_type announces.")
	}
	return credentials{id: form.Get("client_id"), assertion: form.Get("client_assertion")}, nil
}

// proveAssertion finds the client that an assertion names, and verifies the assertion (RFC
// 7523 §3, RFC 10070 §4). A client that does not exist and a wrong signature give the same
// Error, so that it does not say which client ids exist. Only an assertion that is valid uses its
// jti.
func (p *Checks) proveAssertion(
	ctx context.Context,
	r *http.Request,
	sent credentials,
	how manner,
	by *Caller,
) (storage.Application, error) {
	one := &assertion{sent: sent, endpoint: path.Base(path.Clean(r.URL.Path)), how: how}
	a, err := p.proveBy(ctx, one, by)
	if err != nil && one.client != nil {
		err = refusalOf(*one.client, err)
	}
	return a, err
}

// proveBy is proveAssertion for what is known about an assertion. It notes the assertion in by.
func (p *Checks) proveBy(ctx context.Context, one *assertion, by *Caller) (storage.Application, error) {
	err := p.verifyAssertion(ctx, one)
	if err != nil {
		return storage.Application{}, err
	}
	a, claims, now := *one.client, one.claims, oauth.Now()
	err = one.checkPurpose()
	if err == nil {
		err = checkAssertionTimes(claims, now)
	}
	if err == nil {
		err = p.checkAudience(a, claims, one.endpoint)
	}
	// OIDC Core §9: jti is required, and an assertion is used once.
	if jti := claims.Text("jti"); err == nil && (jti == "" || len(jti) > maxJTI) {
		err = invalidClient(
			"The client assertion needs the claim jti, a string of at most %d bytes that is new in each assertion.",
			oauth.Own(maxJTI),
		)
	}
	if err != nil {
		return storage.Application{}, err
	}
	expires, _ := claims.Time("exp")
	// RFC 7523 §3: a used jti is refused until the assertion expires, on each node. It belongs to
	// the client id: a client with a metadata document has no ID before its first approval.
	by.unused = &storage.OneTime{
		Digest:    seal.Digest("client assertion\x00" + a.ClientID + "\x00" + claims.Text("jti")),
		ExpiresAt: expires + maxAhead,
		Now:       now,
	}
	if !one.how.later {
		err = p.UseAssertion(ctx, by)
		if by.unused != nil {
			err = p.UseFailed(ctx, by, err, nil, possession.Proof{})
		}
	}
	// RFC 7521 §4.2: client_id is optional, and names the same client. The assertion is used nevertheless.
	if err == nil && one.sent.id != "" && one.sent.id != a.ClientID {
		err = invalidClient("client_id in the body is not the client of the assertion (its sub).")
	}
	if reason := p.rules.WhySuspended(a); err == nil && reason != "" {
		err = suspendedClient(reason)
	}
	if err != nil {
		return storage.Application{}, err
	}
	if SignsByKey(a) {
		p.find.Used(a, one.keyID)
	}
	by.secret = one.secret
	return a, nil
}

// ofRequests lists the parameters of an authorization request that an assertion has no use for.
var ofRequests = [...]string{"client_id", "response_type", "redirect_uri", "scope", "state", "code_challenge"}

// checkPurpose checks that the JWT was not made to be a request object: the browser of a person, and
// whoever reads its history, has those.
//
// RFC 9101 §10.8: typ distinguishes the two. Many clients send none, or that of any JWT, and then it is
// the claims that do: an object always has parameters, and an assertion never.
func (one *assertion) checkPurpose() error {
	if strings.HasSuffix(strings.ToLower(one.kind), typeOfAssertions) {
		return nil
	}
	for _, name := range ofRequests {
		if _, there := one.claims[name]; there {
			return invalidClient(
				"The client assertion has the claim %s, as a request object has: leave it out, or send the typ "+
					"client-authentication+jwt.",
				oauth.Own(name),
			)
		}
	}
	return nil
}

// typeOfAssertions is the typ of a JWT that is made to be a client assertion (RFC 10070 §4).
const typeOfAssertions = "client-authentication+jwt"

// UseAssertion uses the assertion of a client, if it has one that is not used yet.
func (p *Checks) UseAssertion(ctx context.Context, by *Caller) error {
	if by.unused == nil {
		return nil
	}
	return by.afterUse(p.store.SeeOnce(ctx, *by.unused))
}

// UseFailed uses the client assertion and the DPoP proof of a request that has failed, unless this
// was done before. Otherwise whoever has seen the request, such as in a log, could send both again,
// with a code or a refresh token that works. It returns the error for the client.
//
// OIDC Core §9: an assertion is used once. RFC 9449 §11.1: the same of a proof.
// RFC 9449 §8: a client that gets use_dpop_nonce repeats the request, with the same assertion.
func (p *Checks) UseFailed(
	ctx context.Context,
	by *Caller,
	failed error,
	checks *possession.Checks,
	proof possession.Proof,
) error {
	if possession.AsksForNonce(failed) {
		return failed
	}
	ctx, stop := possession.Finish(ctx)
	defer stop()
	var proven error
	if proof.Key != "" && p.mayStore(ctx, by) {
		proven = checks.Use(ctx, &proof)
	}
	refused := cmp.Or(p.UseAssertion(ctx, by), proven)
	// A request that this server has failed may have used both itself: that is no replay.
	if _, wrong := oauth.Refused(failed); refused == nil || !wrong {
		return failed
	}
	return refused
}

// mayStore reports whether the proof of a failed request may take a row. Everybody knows the client
// id of a public application, so the rows that strangers cause are limited by network.
func (p *Checks) mayStore(ctx context.Context, by *Caller) bool {
	if by.Accountable() {
		return true
	}
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfAssertion, "proof ", AddressOf(ctx)))
	return wait == 0
}

// MayVerify returns an Error if too many signatures of strangers came from the network of a request.
// Anybody can make a key and register it, or publish a document with it, and then each request costs this
// server a signature, and each assertion a row. So it comes before the signature is verified.
func (p *Checks) MayVerify(ctx context.Context, a storage.Application, what string) error {
	if policy.StandingOf(a) != policy.StandingOpen {
		return nil
	}
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfAssertion, what, AddressOf(ctx)))
	if wait > 0 {
		return oauth.Later(
			http.StatusTooManyRequests, wait,
			"Too many signatures of applications for which nobody is responsible came from this network. Wait a little, then "+
				"try again.",
		)
	}
	return nil
}

// AddToken stores a token that a client obtains for itself, and uses its assertion
// in the same statement.
func (p *Checks) AddToken(ctx context.Context, by *Caller, token storage.Token) error {
	if by.unused == nil {
		return oauth.Stored(p.store.AddToken(ctx, token))
	}
	return by.afterUse(p.store.AddTokenOnce(ctx, token, *by.unused))
}

// afterUse notes that the assertion is used, and returns the error for the client. After any other error
// nobody knows, so UseFailed uses it.
func (c *Caller) afterUse(err error) error {
	if err == nil || errors.Is(err, storage.ErrSpent) {
		c.unused = nil
	}
	if errors.Is(err, storage.ErrSpent) {
		refused, was := error(invalidClient("An assertion with this jti was used already: make a new assertion for each "+
			"request.")), c.Application
		c.Application = nil
		if was != nil {
			refused = refusalOf(*was, refused)
		}
		return refused
	}
	return oauth.Stored(err)
}

// verifyAssertion verifies that the signature of an assertion is that of the client.
func (p *Checks) verifyAssertion(ctx context.Context, one *assertion) error {
	var secrets []any
	verifier := jose.Verifier{
		// RFC 8725 §3.1: the algorithm none is never accepted.
		Algorithms: allAlgorithms,
		// RFC 8725 §3.11: a JWT that was made for another purpose says so. RFC 10070 §4
		// recommends that a server does not require the type.
		Types: []string{"", "jwt", typeOfAssertions},
		Keys: func(h jose.Header, unverified []byte) ([]any, error) {
			keys, err := p.assertionKeys(ctx, one, h, unverified)
			if h.Algorithm == jose.HS256 {
				secrets = keys
			}
			return keys, err
		},
	}
	_, err := verifier.Verify(one.sent.assertion)
	if errors.Is(err, jose.ErrInvalid) && one.algorithm == "" { // Keys was not called
		return invalidClient(
			"The client assertion must be one JWT whose header has an alg of %s, no typ or the typ JWT or "+
				"client-authentication+jwt, and no crit.",
			oauth.Own(strings.Join(allAlgorithms, ", ")),
		)
	}
	if errors.Is(err, jose.ErrInvalid) {
		return p.wrongAssertion(ctx, one)
	}
	if err != nil {
		return err
	}
	for _, key := range secrets {
		verifier.Keys = func(jose.Header, []byte) ([]any, error) { return []any{key}, nil }
		text, isText := key.([]byte)
		if _, err := verifier.Verify(one.sent.assertion); err == nil && isText {
			// While two secrets work, HS256 signs for the client with the one that it uses.
			one.secret = string(text)
			break
		}
	}
	if len(secrets) > 0 {
		return p.notGuessed(ctx, *one.client)
	}
	return nil
}

// notGuessed refuses a correct secret that a person chose while the limit of guesses is
// reached.
func (p *Checks) notGuessed(ctx context.Context, a storage.Application) error {
	if canBeGuessed(a) {
		return p.provenAt(ctx, a)
	}
	return nil
}

// assertionKeys returns the keys with which the client that an assertion names may have signed
// it. The method that is registered for the client decides the kind of key.
func (p *Checks) assertionKeys(ctx context.Context, one *assertion, h jose.Header, unverified []byte) ([]any, error) {
	one.algorithm, one.kind = h.Algorithm, h.Type
	claims, err := jose.ParseClaims(unverified)
	if err != nil {
		return nil, invalidClient("The claims of the client assertion are not a JSON object.")
	}
	one.claims = claims
	name := claims.Text("sub")
	// OIDC Core §9: iss and sub are the client id.
	if name == "" || claims.Text("iss") != name {
		return nil, invalidClient("The client assertion needs the claims iss and sub, which are both the client id.")
	}
	a, err := p.client(ctx, name, one.how)
	if errors.Is(err, storage.ErrNotFound) {
		one.cause = errors.New("no client has the id in sub")
		return nil, jose.ErrInvalid
	}
	if _, refused := errors.AsType[*oauth.Error](err); refused || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	one.client = &a
	may := AlgorithmsOf(a)
	// RFC 7591 §2: the client authenticates by the method that it has registered.
	if registered(a)[0].assertion != one.sent.place {
		may = nil
	}
	if !slices.Contains(may, h.Algorithm) {
		one.cause = fmt.Errorf(
			"it is registered for %s, and the algorithms of its assertions are %s", methodsOf(a),
			cmp.Or(strings.Join(may, ", "), "none"),
		)
		return nil, jose.ErrInvalid
	}
	one.cause = errors.New("the signature is not by its key")
	if registered(a)[0].Needs == ReadableSecret {
		if !Readable(a.Secret) {
			one.cause = errors.New("only a hash of its secret is stored")
			return nil, jose.ErrInvalid
		}
		keys, err := p.HMACKeys(a)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		return keys, nil
	}
	var known []jose.JWK
	keys, err := p.keysets.find(ctx, a, func(set jose.JWKSet) []any {
		known = set.Keys
		found, id := set.Named(h)
		one.keyID = id
		return found
	})
	if len(keys) == 0 && (err == nil || errors.Is(err, jose.ErrInvalid)) {
		one.cause = fmt.Errorf("none of its keys has the alg and the kid of the header: it has %s", registeredKeys(known))
	}
	if err != nil && !errors.Is(err, jose.ErrInvalid) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, keysets.ErrBusy) {
			return nil, BusyKeys()
		}
		one.cause = err
		return nil, jose.ErrInvalid
	}
	if err != nil {
		return nil, err
	}
	return keys, p.MayVerify(ctx, a, "assertion ")
}

// wrongAssertion returns the one Error for a client that does not exist, a client with another
// method or no matching key, keys that cannot be fetched, and a wrong signature. Only the log
// tells them apart. It uses a try, as a wrong secret does.
func (p *Checks) wrongAssertion(ctx context.Context, one *assertion) error {
	var tries []throttle.Try
	if one.client == nil || one.client.ID == "" { // "": only its metadata document is known
		tries = []throttle.Try{limits.At(limits.AtUnknownClient, AddressOf(ctx))}
	} else {
		tries = p.guessAtSecret(ctx, *one.client)
	}
	_, err := p.limits.Take(tries...)
	if err != nil {
		return err
	}
	return invalidClient("There is no client with this id that has registered the key of this assertion: check iss and " +
		"sub, the registered method and algorithm, the registered keys, and the kid in the header.").Because(one.cause)
}
