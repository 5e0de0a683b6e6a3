package clientauth

import (
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// The times of an assertion, in seconds.
const (
	// maxAssertionLife is how far exp may be ahead. A stolen assertion that nobody has used
	// works until then.
	maxAssertionLife = 600
	// maxAhead is how far the clock of a client, or of another node, may be ahead.
	maxAhead = 60
)

const maxJTI = 255 // bytes

// checkAssertionTimes checks exp, nbf and iat.
func checkAssertionTimes(claims jose.Claims, now int64) error {
	expires, there := claims.Time("exp")
	switch {
	// RFC 7523 §3: exp is required.
	case !there:
		return invalidClient(
			"The client assertion needs the claim exp, a time at most %d seconds ahead.", oauth.Own(maxAssertionLife),
		)
	case expires <= now:
		return invalidClient("The client assertion has expired: make a new one for each request, and check the clock of " +
			"the client.")
	// RFC 7523 §3: exp that is too far ahead may be refused.
	case expires > now+maxAssertionLife+maxAhead:
		return invalidClient(
			"The claim exp of the client assertion is more than %d seconds ahead. It is in seconds since 1970, not in "+
				"milliseconds.",
			oauth.Own(maxAssertionLife),
		)
	}
	for _, name := range []string{"nbf", "iat"} {
		at, there := claims.Time(name)
		switch {
		case claims[name] == nil:
		case !there:
			return invalidClient("The claim %s of the client assertion is not a number of seconds.", oauth.Own(name))
		case at > now+maxAhead:
			return invalidClient(
				"The claim %s of the client assertion is more than %d seconds ahead: check the clock of the client.",
				oauth.Own(name), oauth.Own(maxAhead),
			)
		}
	}
	return nil
}

// checkAudience checks for whom an assertion is that an application sends to an endpoint.
//
// RFC 10070 §4: the audience is the issuer of this server, as a string or as an array of that one
// string. With several audiences, or the address of an endpoint, another server could use the
// assertion here.
func (p *Checks) checkAudience(a storage.Application, claims jose.Claims, endpoint string) error {
	aud, single := claims["aud"].(string)
	// FAPI 2.0 Security Profile §5.3.2.1: no array.
	if !single && policy.HasProfile(a) {
		return invalidClient(
			"The claim aud of the client assertion must be the issuer of this server as a string, %s, and no array.",
			oauth.Own(p.config.Issuer),
		)
	}
	if list, _ := claims["aud"].([]any); len(list) == 1 {
		aud, single = list[0].(string)
	}
	switch {
	case !single:
		return invalidClient(
			"The claim aud of the client assertion must be the issuer of this server alone, %s.", oauth.Own(p.config.Issuer),
		)
	case aud == p.config.Issuer:
		return nil
	case a.EndpointAudience && p.isEndpoint(strings.TrimSuffix(aud, "/"), endpoint):
		if _, known := p.warned.LoadOrStore(a.ID, true); !known {
			p.log.Warn(
				"an application signs assertions for the address of an endpoint: let it use the issuer as aud, and switch the "+
					"exception off",
				"client", a.ClientID,
			)
		}
		return nil
	}
	return invalidClient(
		"The claim aud of the client assertion must be the issuer of this server, %s, character by character.",
		oauth.Own(p.config.Issuer),
	)
}

// isEndpoint reports whether an address is that of the token endpoint, or of another endpoint.
func (p *Checks) isEndpoint(address, other string) bool {
	return slices.ContainsFunc(
		p.config.Bases, func(base string) bool { return address == base+"/token" || address == base+"/"+other },
	)
}
