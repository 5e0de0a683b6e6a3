package mandate

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The matrix of binding_test.go for clients that prove a key or a certificate: to authenticate
// (RFC 7523, RFC 8705 §2), and as that which their tokens are bound to (RFC 9449, RFC 8705 §3).

// demandingURI is an API that accepts bound tokens only.
const demandingURI = "https://demanding.example/"

// TestBindingKeys lets strangers use what belongs to owners.
func TestBindingKeys(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		ours := newIssuer(t)
		s, mutual := withCertificates(t, db, ours, "SAMPLE_API: true", "TRUSTED_PROXIES: [127.0.0.1]",
			"OAUTH2_PROVIDER: {OIDC_ENABLED: true, "+openidScopes+", RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0, RESOURCES: "+
				"[{URI: "+demandingURI+", NAME: Demanding, SCOPES: [read], SENDER_CONSTRAINED: true}]}")
		r := &rehearsal{s, mutual, ours, s.somebody(t, "alice")}
		redirect, device := "https://bound.example/back", "--grant="+deviceGrant
		for _, method := range []string{"private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"} {
			name := strings.ReplaceAll(method, "_", "-")
			// Its tokens are bound to what its request proves, and to nothing by its registration.
			other := r.party(t, variant{method, method, "certificate", false, false}, name+"-other", redirect, "--profile=",
				device, "--sender-constraint=")
			other.scope = "read"
			for _, bound := range []string{"dpop", "certificate"} {
				owner := r.party(t, variant{method + ", " + bound, method, bound, true, false}, name+"-"+bound, redirect,
					"--profile=", device)
				t.Run(owner.name, func(t *testing.T) { boundToKeys(t, owner, other, keyStrangers) })
			}
			if method != "private_key_jwt" {
				continue
			}
			free, key := *other, *other
			free.name, key.name, key.bound, key.proves = "not registered, certificate", "not registered, dpop", "dpop",
				newHolder(t)
			t.Run(free.name, func(t *testing.T) { boundToKeys(t, &free, nil, freeStrangers, "resource", demandingURI) })
			t.Run(key.name, func(t *testing.T) { boundToKeys(t, &key, nil, freeStrangers) })
		}
	})
}

// keyStranger is what somebody else proves.
type keyStranger struct {
	name string
	// of is a regular expression for the names of the owners whose things it wants.
	of string
	// turn makes it from a copy of the owner. It may return the client id that it sends beside.
	turn func(t testing.TB, p *party, other *party) string
	// refused has the status and the error by artefact. The stranger may have what is not listed.
	refused map[string]string
}

// at is a refusal of the same kind for several artefacts, named in one string.
func at(artefacts, refusal string, more ...string) map[string]string {
	all := map[string]string{}
	for pairs := append([]string{artefacts, refusal}, more...); len(pairs) > 0; pairs = pairs[2:] {
		for name := range strings.SplitSeq(pairs[0], ", ") {
			all[name] = pairs[1]
		}
	}
	return all
}

const everywhere = "code, refresh, device, revoke, introspect, push"

// withCertificate lets a party show a certificate, or none, at the listener for certificates.
func (p *party) withCertificate(t testing.TB, name string) {
	t.Helper()
	p.certificate = nil
	if name != "" {
		shown := p.rehearsal.ours.client(t, name)
		p.certificate = &shown
	}
	p.at = p.rehearsal.reached(p.rehearsal.mutual, p.certificate)
}

var keyStrangers = []keyStranger{
	// RFC 6749 §4.1.3, §6, RFC 8628 §3.4, RFC 7009 §2.1: bound to the client it was issued to.
	{"another client", "", func(t testing.TB, p, other *party) string {
		bound := p.proves
		*p = *other
		if bound != nil {
			p.proves = newHolder(t) // everything else is as it should be
		}
		return ""
	}, at("code, refresh, device, revoke", "400 invalid_grant")},
	// RFC 7521 §4.2, RFC 8705 §2: the proof is that of the client in client_id.
	{"the proof of another client under the right client_id", "", func(_ testing.TB, p, other *party) string {
		id := p.ClientID
		*p = *other
		return id
	}, at(everywhere, "401 invalid_client")},
	{"the right proof under another client_id", "", func(_ testing.TB, p, other *party) string { return other.ClientID },
		at(everywhere, "401 invalid_client")},
	// RFC 7523 §3: the signature is by a key of the client.
	{"an assertion by another key", "jwt", func(_ testing.TB, p, other *party) string {
		p.keys = other.keys
		return ""
	}, at(everywhere, "401 invalid_client")},
	{"no assertion", "jwt", func(_ testing.TB, p, _ *party) string {
		p.method = ""
		return ""
	}, at(everywhere, "401 invalid_client")},
	{"no certificate", "tls", func(t testing.TB, p, _ *party) string {
		p.withCertificate(t, "")
		return ""
	}, at(everywhere, "401 invalid_client")},
	// RFC 9449 §10.1, §7.1: a code that was pushed with a proof, and a token, are bound to its key.
	// A refresh token of a client that authenticates is not (§5), nor is a device code.
	{"the right client, a proof of another key", "dpop", func(t testing.TB, p, _ *party) string {
		p.proves = newHolder(t)
		return ""
	}, at("code", "400 invalid_grant", "push", "400 invalid_dpop_proof", "API", "401 invalid_dpop_proof")},
	// RFC 9449 §5.2: a certificate is not a proof.
	{"the right client, a certificate in place of a proof", "jwt, dpop", func(t testing.TB, p, _ *party) string {
		p.proves = nil
		p.withCertificate(t, "any.example")
		return ""
	}, at("code, refresh, device", "400 invalid_dpop_proof", "API", "401 invalid_token")},
	{"the right client, no proof", "dpop", func(_ testing.TB, p, _ *party) string {
		p.proves = nil
		return ""
	}, at("code, refresh, device", "400 invalid_dpop_proof", "API", "401 invalid_token")},
	// RFC 8705 §3: the token is bound to one certificate. The client may use its code, refresh token
	// or device code with another one, unless it also authenticates with it (§2).
	{"the right client, another certificate", "jwt, certificate|^tls_client_auth, certificate",
		func(t testing.TB, p, _ *party) string {
			p.withCertificate(t, p.subject())
			return ""
		}, at("API", "401 invalid_token")},
	{"the right client, another certificate with its name", "self_signed", func(t testing.TB, p, _ *party) string {
		shown := reissued(t, *p.certificate)
		p.certificate, p.at = &shown, p.rehearsal.reached(p.rehearsal.mutual, &shown)
		return ""
	}, at(everywhere, "401 invalid_client")},
	{"the right client, no certificate", "jwt, certificate", func(t testing.TB, p, _ *party) string {
		p.withCertificate(t, "")
		return ""
	}, at("code, refresh, device", "400 invalid_request", "API", "401 invalid_token")},
	{"the right client, a proof beside the certificate", ", certificate", func(t testing.TB, p, _ *party) string {
		p.proves = newHolder(t)
		return ""
	}, at("code, refresh, device, push", "400 invalid_request", "API", "401 invalid_token")},
}

var freeStrangers = []keyStranger{
	{"a certificate in place of the proof", "dpop", func(t testing.TB, p, _ *party) string {
		p.proves = nil
		p.withCertificate(t, "any.example")
		return ""
	}, at("code, refresh", "400 invalid_grant")},
	{"no proof", "dpop", func(_ testing.TB, p, _ *party) string {
		p.proves = nil
		return ""
	}, at("code, refresh", "400 invalid_grant")},
	{"a proof in place of the certificate", "certificate", func(t testing.TB, p, _ *party) string {
		p.proves = newHolder(t)
		p.withCertificate(t, "")
		return ""
	}, at("refresh", "400 invalid_grant")},
	{"a proof beside the certificate", "certificate", func(t testing.TB, p, _ *party) string {
		p.proves = newHolder(t)
		return ""
	}, at("refresh", "400 invalid_grant")},
	{"no certificate", "certificate", func(t testing.TB, p, _ *party) string {
		p.withCertificate(t, "")
		return ""
	}, at("code", "400 invalid_request", "refresh", "400 invalid_grant")},
}

// subject is the name in the certificate of the party.
func (p *party) subject() string { return p.certificate.Leaf.DNSNames[0] }

// possession is something of a party.
type possession struct {
	name string
	// fresh returns the request that uses it, and a function that fails if the owner cannot use it.
	fresh func(t testing.TB) (path string, form url.Values, remains func(t testing.TB))
}

// possessions are the artefacts at the endpoints at which a client authenticates. asks has more
// parameters of the request from which they come.
func (p *party) possessions(asks []string) []possession {
	var family tokens
	got := func(t testing.TB) tokens {
		if family.AccessToken == "" {
			family = p.tokens(t, p.boundCode(t, asks...))
		}
		return family
	}
	active := func(t testing.TB) {
		t.Helper()
		if !p.at.active(t, p.authenticates(t, nil, nil), family.AccessToken) {
			family = tokens{}
			t.Error("the token has ended")
		}
	}
	return []possession{
		{"code", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			form := p.boundCode(t, asks...)
			return "/o/token/", form, func(t testing.TB) { p.tokens(t, form) }
		}},
		{"refresh", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			form := refreshForm(got(t).RefreshToken)
			return "/o/token/", form, func(t testing.TB) {
				family = tokens{} // if it was spent, the next one begins anew
				family = p.tokens(t, form)
			}
		}},
		{"device", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			a := p.at.post(t, "/o/device_authorization/", p.authenticates(t, nil, nil), params("scope", p.scope))
			var codes deviceCodes
			a.decode(t, &codes)
			p.person.allowDevice(t, codes)
			form := pollForm(p.at.secret(codes.DeviceCode))
			return "/o/token/", form, func(t testing.TB) { p.tokens(t, form) }
		}},
		{"revoke", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			return "/o/revoke_token/", params("token", got(t).AccessToken), active
		}},
		{"introspect", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			return "/o/introspect/", params("token", got(t).AccessToken), active
		}},
		{"push", func(t testing.TB) (string, url.Values, func(testing.TB)) {
			form := p.boundRequest(t)
			return "/o/par/", form, func(t testing.TB) { p.pushed(t, p.as(t), form) }
		}},
	}
}

// boundRequest returns a request whose code is bound to the key of the party, if it has one.
func (p *party) boundRequest(t testing.TB) url.Values {
	t.Helper()
	form, _ := p.asks(t)
	if p.proves != nil {
		form.Set("dpop_jkt", p.proves.jkt)
	}
	return form
}

// boundCode gets a code that is bound to the key of the party, if it has one.
func (p *party) boundCode(t testing.TB, more ...string) url.Values {
	t.Helper()
	form, verifier := p.asks(t, more...)
	return p.codeOf(t, p.as(t), form, verifier)
}

// boundToKeys lets each stranger try everything of an owner.
func boundToKeys(t *testing.T, owner, other *party, strangers []keyStranger, asks ...string) {
	things := owner.possessions(asks)
	for _, s := range strangers {
		if !regexp.MustCompile(s.of).MatchString(owner.name) {
			continue
		}
		stranger := *owner
		beside := s.turn(t, &stranger, other)
		for _, thing := range things {
			refusal := s.refused[thing.name]
			if refusal == "" {
				continue
			}
			t.Run(thing.name+"/"+s.name, func(t *testing.T) {
				path, form, remains := thing.fresh(t)
				as := stranger.authenticates(t, nil, nil)
				if path == "/o/token/" || path == "/o/par/" {
					as = stranger.proving(t, as)
				}
				if beside != "" {
					as = both(as, "client_id", beside)
				}
				stranger.at.post(t, path, afar(as), form).refusedAs(t, refusal)
				remains(t)
			})
		}
		if refusal := s.refused["API"]; refusal != "" {
			t.Run("access token/"+s.name, func(t *testing.T) { boundAtTheAPI(t, owner, &stranger, refusal) })
		}
	}
}

// boundAtTheAPI lets a stranger present the access token of an owner.
func boundAtTheAPI(t *testing.T, owner, stranger *party, refusal string) {
	token := owner.tokens(t, owner.boundCode(t)).AccessToken
	status, code, _ := strings.Cut(refusal, " ")
	for _, path := range []string{"/resource", "/o/userinfo/"} {
		a := stranger.at.get(t, path, stranger.presents(t, token))
		if challenges := strings.Join(a.Header.Values("WWW-Authenticate"), ", "); strconv.Itoa(a.Status) != status ||
			!strings.Contains(challenges, `error="`+code+`"`) {
			t.Errorf("%s: %d %s, want %s", path, a.Status, challenges, refusal)
		}
	}
	owner.usable(t, token)
}

// refusedAs checks a refusal, written as its status and its error.
func (a answer) refusedAs(t testing.TB, refusal string) {
	t.Helper()
	status, code, _ := strings.Cut(refusal, " ")
	want, _ := strconv.Atoi(status)
	if err := a.refused(want, code); err != nil {
		t.Error(err)
	}
}
