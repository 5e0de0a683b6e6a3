package rules

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/wire"
)

// guarded is the target's api. It distinguishes accepted tokens from refused ones.
type guarded struct {
	t   *T
	url string
	// recognizes says that the resource answers an invented token with another status than 403. So it answers 403 only
	// to a token that it has recognized, and whose scope is insufficient (RFC 6750 §3.1). A resource that answers a valid
	// token with 2xx has not recognized another one that gets 403.
	recognizes bool
}

// protectedAPI returns the target's api. If it needs no token, the check is blocked.
func protectedAPI(t *T) *guarded {
	address := t.API().URL
	if a := t.Get(address); a.Status/100 == 2 {
		t.Blockedf("the api answers %s without a token, so it shows nothing about tokens: name an address under api.url "+
			"that needs one", a)
	}
	invented := t.Get(address, wire.Bearer("conformance-"+t.Random()))
	return &guarded{t, address, invented.Status != http.StatusForbidden}
}

// accepted reports whether the resource accepted a token.
func (r guarded) accepted(a *wire.Answer) bool {
	return a.Status/100 == 2 || r.recognizes && a.Status == http.StatusForbidden
}

// token returns a token that the resource accepts. Without one the check is blocked.
func (r *guarded) token() string {
	token := someTokens(r.t).Access
	a := r.t.Get(r.url, wire.Bearer(token))
	if !r.accepted(a) {
		r.refused(a)
	}
	r.recognizes = r.recognizes && a.Status == http.StatusForbidden
	return token
}

// wantKept asserts that the resource refused a request.
func (r guarded) wantKept(a *wire.Answer, why string) {
	r.t.At(a)
	if r.accepted(a) {
		r.t.Failf("the resource answers %s, although %s", a, why)
	}
}

// refused blocks the check, because the resource refused a new token.
func (r guarded) refused(a *wire.Answer) {
	r.t.At(a)
	r.t.Blockedf("the api answers %s to a new token: name an address under api.url that accepts the tokens of the "+
		"client %s", a, aTokenRequest(r.t).client.Role)
}

// withQuery returns the address of the resource with a token in the query.
func (r guarded) withQuery(token string) string {
	return wire.WithQuery(r.url, url.Values{"access_token": {token}})
}

// skipIfHeaderOnly skips the check if the resource accepts no token in the query alone. Then it may ignore the
// parameter, like any that it does not know.
func (r guarded) skipIfHeaderOnly(token string) {
	if a := r.t.Get(r.withQuery(token)); !r.accepted(a) {
		r.t.Skipf("the api ignores a token in the query, which is no method of its own: the rule needs one that accepts " +
			"tokens in the query")
	}
}

// wantOnlyTokens asserts that the resource accepts valid access tokens, and no other text.
func wantOnlyTokens(t *T) {
	api := protectedAPI(t)
	for _, other := range append(Spoilt(api.token()), "conformance") {
		if a := t.Get(api.url, wire.Bearer(other)); api.accepted(a) {
			t.Failf("the resource answers %s to a text that is no token", a)
		}
	}
}

// challenge is one challenge of WWW-Authenticate (RFC 9110 §11.6.1).
type challenge struct {
	scheme string
	params map[string][]string
}

// A part of WWW-Authenticate is the name of a scheme, or a parameter of the scheme before it.
var challengePart = regexp.MustCompile(
	"^[\\s,]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\\s*=\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|[^\\s,\"]+))?")

// challengesOf returns the challenges in an answer.
func challengesOf(a *wire.Answer) []challenge {
	var all []challenge
	for _, header := range a.Header.Values("WWW-Authenticate") {
		for header != "" {
			part := challengePart.FindStringSubmatch(header)
			switch {
			case part == nil:
				header = header[1:]
				continue
			case part[2] == "":
				all = append(all, challenge{part[1], map[string][]string{}})
			case len(all) > 0:
				params, name := all[len(all)-1].params, strings.ToLower(part[1])
				params[name] = append(params[name], strings.Trim(part[2], `"`))
			}
			header = header[len(part[0]):]
		}
	}
	return all
}

func isBearer(c challenge) bool { return strings.EqualFold(c.scheme, "Bearer") }

// hasChallenge reports whether an answer has a Bearer challenge.
func hasChallenge(a *wire.Answer) bool { return slices.ContainsFunc(challengesOf(a), isBearer) }

// challengeOf returns the Bearer challenge of an answer. Without one the check is blocked.
func challengeOf(t *T, a *wire.Answer) challenge {
	all := challengesOf(a)
	i := slices.IndexFunc(all, isBearer)
	if i < 0 {
		t.At(a)
		t.Blockedf("the answer %s has no Bearer challenge, which RFC 6750 §3 requires (RFC6750/3/challenge)", a)
	}
	return all[i]
}

// wantASCIIChallenge asserts that a challenge contains only characters that the document allows.
func wantASCIIChallenge(t *T, c challenge) {
	for _, name := range []string{"error", "error_description", "error_uri", "scope"} {
		for _, value := range c.params[name] {
			wantASCII(t, name, value)
		}
	}
}

func wantChallengeError(t *T, a *wire.Answer, code string) {
	if got := strings.Join(challengeOf(t, a).params["error"], " "); got != code {
		t.At(a)
		t.Errorf("the challenge has the error %q, want %s", got, code)
	}
}

// tokenIn says which token a request has.
func tokenIn(as []wire.Auth) string {
	if len(as) == 0 {
		return "without a token"
	}
	return "with an invalid token"
}
