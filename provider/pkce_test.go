package provider

import (
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

// All combinations of challenge and verifier, at both endpoints.
func TestPKCE(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	required := f.app(func(r *clients.Registration) { r.PKCE = policy.PKCERequired })
	apps := map[string]*clients.Registered{"usual": f.app(), "required": required, "exempt": f.app(exempt), "public": f.app(public)}
	for name, app := range apps {
		challenges := map[string][]string{"valid": nil}
		if name == "usual" || name == "exempt" {
			challenges["none"] = []string{"code_challenge", "-", "code_challenge_method", "-"}
		}
		for c, request := range challenges {
			for v, answer := range map[string]string{"none": "-", "right": verifier, "wrong": strings.Repeat("a", 43), "short": "a", "long": strings.Repeat("a", 129), "bad": verifier[:42] + "="} {
				t.Run(name+" application, challenge "+c+", verifier "+v, func(t *testing.T) {
					code := f.code(app, s, request...)
					want := "400 invalid_grant"
					if c == "valid" && v == "right" || c == "none" && v == "none" {
						want = "no error"
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
