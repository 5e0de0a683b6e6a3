package mandate

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The modules that only the plan for FAPI 2.0 Message Signing has, and TLS, on SQLite.

func TestRehearsalFAPIMessages(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, newSQLite(t))
	for _, v := range []variant{messageDPoP, messageMTLS} {
		t.Run(v.name, func(t *testing.T) {
			one, two := r.pair(t, v)
			one.acceptsObjects(t)
			one.refusesObjects(t, two)
			one.sendsObjectWithoutPush(t)
			t.Run("signed introspection", func(t *testing.T) { one.introspectsItself(t) })
		})
	}
}

// sendsObject pushes a request object.
func (p *party) sendsObject(t testing.TB, object string) answer {
	t.Helper()
	return p.at.post(t, "/o/par/", afar(p.authenticates(t, nil, nil)), params("request", object))
}

// acceptsObjects pushes each object that must work.
func (p *party) acceptsObjects(t *testing.T) {
	now := time.Now().Unix()
	for name, of := range map[string]struct{ claims, header member }{
		"ensure-request-object-with-multiple-aud-succeeds": {
			claims: member{"aud": []string{"https://other.example/", p.at.Issuer}}},
		"ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted": {claims: member{"nbf": now + 8}},
		"the first client sends no type":                                     {header: member{"typ": nil}},
		"the second client sends the type in mixed case, and iat": {member{"iat": now},
			member{"typ": "OautH-auThZ-REQ+jWt"}},
		"a claims parameter, as an object, which asks for what is not unknown": {
			claims: member{"claims": member{"userinfo": member{"email": nil, "unknown": nil}}}},
		"nbf almost an hour ago, and exp almost an hour after it, but not over": {claims: member{"nbf": now - 3500,
			"exp": now + 60}},
	} {
		t.Run(name, func(t *testing.T) {
			form, verifier := p.asks(t)
			a := p.sendsObject(t, p.at.object(t, p.keyHolder, form, of.claims, of.header))
			if a.Status != http.StatusCreated {
				t.Fatalf("push: %d %s", a.Status, a.Body)
			}
			got := p.answered(t, p.rehearsal.opening(p.application, a.JSON(t)["request_uri"].(string)), "approve")
			p.usable(t, p.tokens(t, grantForm(p.application, got.Get("code"), verifier)).AccessToken)
		})
	}
}

// refusesObjects pushes each object that must not work, and a request without one.
func (p *party) refusesObjects(t *testing.T, other *party) {
	now := time.Now().Unix()
	form, _ := p.asks(t)
	good := p.at.object(t, p.keyHolder, form, nil, nil)
	object := func(claims, header member) string { return p.at.object(t, p.keyHolder, form, claims, header) }
	others := other.keyHolder
	others.application = p.application
	for name, text := range map[string]string{
		"ensure-request-object-without-exp-fails":       object(member{"exp": nil}, nil),
		"ensure-request-object-without-nbf-fails":       object(member{"nbf": nil}, nil),
		"ensure-expired-request-object-fails":           object(member{"exp": now - 300}, nil),
		"ensure-request-object-with-bad-aud-fails":      object(member{"aud": "https://other.example/"}, nil),
		"ensure-request-object-with-exp-over-60-fails":  object(member{"nbf": now, "exp": now + 70*60}, nil),
		"ensure-request-object-with-nbf-over-60-fails":  object(member{"nbf": now - 70*60}, nil),
		"ensure-signed-request-object-with-RS256-fails": object(nil, member{"alg": "RS256"}),
		"ensure-request-object-signature-algorithm-is-not-none": signHeader(t,
			member{"alg": "none", "typ": "oauth-authz-req+jwt"}, p.at.enclosed(p.application, form, nil),
			jwt.UnsafeAllowNoneSignatureType),
		"ensure-request-object-with-invalid-signature-fails": good[:len(good)-8] + "AAAAAAAA",
		"ensure-matching-key-in-authorization-request":       p.at.object(t, others, form, nil, nil),
		"par-authorization-request-containing-request_uri, enclosed": object(
			member{"request_uri": "urn:ietf:params:oauth:request_uri:other"}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			err := p.sendsObject(t, text).refused(http.StatusBadRequest, "invalid_request_object")
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("ensure-unsigned-request-at-par-endpoint-fails", func(t *testing.T) {
		err := p.at.post(t, "/o/par/", afar(p.authenticates(t, nil, nil)), form).refused(http.StatusBadRequest,
			"invalid_request")
		if err != nil {
			t.Error(err)
		}
	})
}

// sendsObjectWithoutPush opens the authorization endpoint with a signed request.
func (p *party) sendsObjectWithoutPush(t *testing.T) {
	t.Run("ensure-signed-authorization-request-without-using-par-fails", func(t *testing.T) {
		form, _ := p.asks(t)
		beside := params("response_type", "code", "scope", p.scope)
		for what, more := range map[string]url.Values{"the object alone": {},
			"with the parameters that OpenID Connect has outside": beside} {
			address := "/o/authorize/?" +
				with(more, "client_id", p.ClientID, "request", p.at.object(t, p.keyHolder, form, nil, nil)).Encode()
			p.person.open(t, address)
			if p.person.Away == nil {
				t.Fatalf("%s: the browser shows %d %s", what, p.person.Status, p.person.Body)
			}
			// FAPI 2.0 Security Profile §5.3.2.2: a request that was not pushed is refused, and FAPI 2.0
			// Message Signing §5.4.1: by a signed response.
			got := p.responds(t, p.person.Away)
			if got.Get("error") != "invalid_request" || got.Get("state") != "the state" || got.Get("code") != "" {
				t.Errorf("%s: the response is %v", what, got)
			}
		}
	})
}

// introspectsItself asks for a signed introspection response, which is by PS256.
func (p *party) introspectsItself(t *testing.T) {
	token := p.tokens(t, p.code(t)).AccessToken
	_, about := p.at.signedAbout(t, p.application, p.authenticates(t, nil, nil), "PS256", token)
	cnf, _ := about["cnf"].(map[string]any)
	if about["active"] != true || len(cnf) != 1 {
		t.Errorf("the response is %v", about)
	}
}

// FAPI 2.0 Security Profile §5.2.1, §5.2.2: both listeners have TLS 1.2 with the recommended cipher
// suites and TLS 1.3, and nothing else.
func TestRehearsalFAPITLS(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, newSQLite(t))
	for _, address := range []string{r.URL, r.mutual} {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		opens := func(version uint16, suites ...uint16) uint16 {
			config := r.options.tls.Clone()
			config.MinVersion, config.MaxVersion, config.CipherSuites = version, version, suites
			conn, err := tls.Dial("tcp", at.Host, config)
			if err != nil {
				return 0
			}
			defer conn.Close()
			return conn.ConnectionState().Version
		}
		for version, want := range map[uint16]uint16{tls.VersionTLS10: 0, tls.VersionTLS11: 0,
			tls.VersionTLS12: tls.VersionTLS12, tls.VersionTLS13: tls.VersionTLS13} {
			checkEqual(t, tls.VersionName(version), opens(version), want)
		}
		for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
			if !slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
				continue
			}
			recommended := strings.HasPrefix(suite.Name, "TLS_ECDHE_") && strings.Contains(suite.Name, "_GCM_")
			if opened := opens(tls.VersionTLS12, suite.ID) != 0; opened && !recommended {
				t.Errorf("%s is on at %s", suite.Name, address)
			}
		}
		if opens(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) == 0 {
			t.Error("the recommended suite is off")
		}
	}
}
