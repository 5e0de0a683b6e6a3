package provider

import (
	"strings"
	"testing"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

func TestChallenge(t *testing.T) {
	confidential, free, open := Application{ClientType: policy.Confidential, Responsible: storage.ByOperator}, Application{ClientType: policy.Confidential, PKCEExempt: true, Responsible: storage.ByOperator}, Application{ClientType: policy.Public, Responsible: storage.ByOperator}
	odd := Application{ClientType: policy.Public, PKCEExempt: true, Responsible: storage.ByOperator} // such an application cannot be registered
	persons := owned(storage.ByOwner, true, false)
	persons.ClientType, persons.PKCEExempt = policy.Confidential, true
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
			for name, app := range map[string]Application{"confidential": confidential, "exempt": free, "public": open, "exempt and public": odd, "exempt and a person's": persons} {
				for _, optional := range []bool{false, true} {
					key := name
					if optional {
						key += " optional"
					}
					want, ok := test.want[key]
					if !ok {
						want = test.want["*"]
					}
					p := authorize.New(authorize.Config{PKCEOptional: optional}, Config{}.rules(), nil, nil, nil, seal.Sealer{}, framework.New(0, 0, nil, nil))
					err := pkce.CheckChallenge(p.MayOmitPKCE(app), values("code_challenge", test.challenge, "code_challenge_method", test.method))
					if kind(err) != want {
						t.Errorf("%s: %s, want %s", key, kind(err), want)
					}
				}
			}
		})
	}
}

func TestVerifier(t *testing.T) {
	verifiers := []struct{ name, text string }{
		{"none", ""}, {"right", verifier}, {"wrong", strings.Repeat("a", 43)}, {"the challenge itself", challenge}, {"short", verifier[:42]}, {"long", strings.Repeat("a", 129)},
		{"bad alphabet", verifier[:42] + "+"}, {"space", verifier[:42] + " "}, {"unicode", verifier[:42] + "ü"}, {"case", strings.ToUpper(verifier)}, {"longer than right", verifier + "A"},
	}
	for _, v := range verifiers {
		t.Run("RFC7636/4.6 challenge and verifier "+v.name, func(t *testing.T) {
			want := "400 invalid_grant"
			switch v.name {
			case "none":
				want = "400 invalid_request"
			case "right":
				want = "no error"
			}
			wantError(t, pkce.CheckVerifier(challenge, v.text), want)
		})
		t.Run("RFC9700/2.1.1 no challenge and verifier "+v.name, func(t *testing.T) {
			want := "400 invalid_grant"
			if v.name == "none" {
				want = "no error"
			}
			wantError(t, pkce.CheckVerifier("", v.text), want)
		})
	}
	t.Run("RFC7636/4.1 43 to 128 characters, every one of the alphabet", func(t *testing.T) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
		for _, text := range []string{alphabet, strings.Repeat("~", 43), strings.Repeat("~", 128)} {
			wantError(t, pkce.CheckVerifier(seal.Digest(text), text), "no error")
		}
		for b := range 256 {
			text := verifier + string([]byte{byte(b)})
			want := "400 invalid_grant"
			if strings.IndexByte(alphabet, byte(b)) >= 0 {
				want = "no error"
			}
			if got := kind(pkce.CheckVerifier(seal.Digest(text), text)); got != want {
				t.Errorf("byte %#x: %s, want %s", b, got, want)
			}
		}
	})
}

// All combinations of challenge and verifier, at both endpoints.
func TestPKCE(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	apps := map[string]*clients.Registered{"required": f.app(), "exempt": f.app(exempt), "public": f.app(public)}
	for name, app := range apps {
		challenges := map[string][]string{"valid": nil}
		if name == "exempt" {
			challenges["none"] = []string{"code_challenge", "-", "code_challenge_method", "-"}
		}
		for c, request := range challenges {
			for v, answer := range map[string]string{"none": "-", "right": verifier, "wrong": strings.Repeat("a", 43), "short": "a", "long": strings.Repeat("a", 129), "bad": verifier[:42] + "="} {
				t.Run(name+" application, challenge "+c+", verifier "+v, func(t *testing.T) {
					code := f.code(app, s, request...)
					want := "400 invalid_grant"
					switch {
					case c == "valid" && v == "right" || c == "none" && v == "none":
						want = "no error"
					case c == "valid" && v == "none":
						want = "400 invalid_request"
					}
					_, err := f.exchange(app, code, "code_verifier", answer)
					wantError(t, err, want)
				})
			}
		}
	}
	t.Run("a wrong verifier spends nothing", func(t *testing.T) {
		code := f.code(apps["required"], s)
		for _, v := range []string{"-", strings.Repeat("a", 43), "a"} {
			_, err := f.exchange(apps["required"], code, "code_verifier", v)
			if err == nil {
				t.Fatal("accepted", v)
			}
		}
		_, err := f.exchange(apps["required"], code)
		wantError(t, err, "no error")
	})
	t.Run("RFC7636/4.4 each code has a challenge of its own", func(t *testing.T) {
		other := strings.Repeat("b", 43)
		first, second := f.code(apps["public"], s), f.code(apps["public"], s, "code_challenge", seal.Digest(other))
		_, err := f.exchange(apps["public"], first, "code_verifier", other)
		wantError(t, err, "400 invalid_grant")
		_, err = f.exchange(apps["public"], second, "code_verifier", other)
		wantError(t, err, "no error")
	})
}
