package authorize

import (
	"strings"
	"testing"
	"time"

	"mandate/provider/framework"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// RFC 7636 appendix B.
const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

func TestChallenge(t *testing.T) {
	confidential, free, open := storage.Application{ClientType: policy.Confidential, Responsible: storage.ByOperator}, storage.Application{ClientType: policy.Confidential, PKCEExempt: true, Responsible: storage.ByOperator}, storage.Application{ClientType: policy.Public, Responsible: storage.ByOperator}
	odd := storage.Application{ClientType: policy.Public, PKCEExempt: true, Responsible: storage.ByOperator} // such an application cannot be registered
	persons := storage.Application{Responsible: storage.ByOwner, OwnerID: new("alice"), OwnerActive: new(true), OwnerAdministrator: new(false)}
	persons.ClientType, persons.PKCEExempt = policy.Confidential, true
	bank := free // FAPI 2.0 Security Profile §5.3.2.2: PKCE is required
	bank.Profile = policy.ProfileFAPI
	for _, test := range []struct {
		rule              string
		challenge, method string
		want              map[string]string // for each application and setting, the error
	}{
		{"RFC7636/4.3 S256", challenge, "S256", map[string]string{"*": "no error"}},
		{"RFC9700/2.1.1 PKCE for every client, but where a setting leaves it out", "", "", map[string]string{"*": "400 invalid_request", "exempt": "no error", "exempt optional": "no error", "confidential optional": "no error"}},
		{"RFC9700/2.1.1 no plain", verifier, "plain", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.3 without a method it is plain", challenge, "", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.4.1 an unknown method", challenge, "S512", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.3 the method has its case", challenge, "s256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.3 a method alone", "", "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 a byte short", challenge[:42], "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 a byte long", challenge + "A", "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 padded", challenge + "=", "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 not base64url", strings.ReplaceAll(challenge, "-", "+"), "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 bits beyond the digest", challenge[:42] + "N", "S256", map[string]string{"*": "400 invalid_request"}},
		{"RFC7636/4.2 a line feed", challenge + "\n", "S256", map[string]string{"*": "400 invalid_request"}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for name, app := range map[string]storage.Application{"confidential": confidential, "exempt": free, "public": open, "exempt and public": odd, "exempt and a person's": persons, "exempt with a profile": bank} {
				for _, optional := range []bool{false, true} {
					key := name
					if optional {
						key += " optional"
					}
					want, ok := test.want[key]
					if !ok {
						want = test.want["*"]
					}
					p := New(Config{PKCEOptional: optional}, policy.New(policy.Settings{}), nil, nil, nil, nil, nil, nil, seal.Sealer{}, framework.New(0, 0, nil, nil))
					err := pkce.CheckChallenge(p.mayOmitPKCE(app), values("code_challenge", test.challenge, "code_challenge_method", test.method))
					if oauthtest.Kind(err) != want {
						t.Errorf("%s: %s, want %s", key, oauthtest.Kind(err), want)
					}
				}
			}
		})
	}
}

// FAPI 2.0 Security Profile §5.3.2.1: a code lasts at most 60 seconds.
func TestCodeLifetime(t *testing.T) {
	for _, test := range []struct {
		configured time.Duration
		profile    string
		want       int64
	}{{time.Minute * 2, "", 120}, {time.Minute * 2, policy.ProfileFAPI, 60}, {time.Minute * 2, policy.ProfileMessages, 60}, {time.Second * 30, policy.ProfileFAPI, 30}} {
		p := &Authorizations{config: Config{CodeLifetime: test.configured}}
		if got := p.codeLifetime(storage.Application{Profile: test.profile}); got != test.want {
			t.Errorf("%v, profile %q: %d seconds, want %d", test.configured, test.profile, got, test.want)
		}
	}
}
