package clients

import (
	"strings"
	"testing"

	"mandate/handlers/web"
	"mandate/provider/acr"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// A kind whose grant only administrators can register says so, and has no form.
func TestKindOfAdministrators(t *testing.T) {
	k := kindOf("service")
	who := &storage.SignedIn{}
	if text := k.refusal(
		who, policy.Allowance{Grants: []string{policy.GrantCode}},
	); !strings.Contains(text, "Client credentials") {
		t.Errorf("it says %q", text)
	}
	if text := k.refusal(who, policy.Allowance{Grants: []string{policy.GrantClient}}); text != "" {
		t.Errorf("it says %q", text)
	}
}

// Each choice of a form has words for people.
func TestChoicesHaveWords(t *testing.T) {
	for of, names := range map[string][]string{
		"login":      acr.Values(),
		"profile":    policy.Profiles(),
		"rotation":   {policy.RotationOn, policy.RotationOff},
		"PKCE":       policy.PKCEValues(),
		"constraint": {possession.DPoP, possession.Certificate},
	} {
		words := map[string]map[string]string{
			"login": {acr.MFA: web.RequiredLogin(acr.MFA), acr.Passkey: web.RequiredLogin(acr.Passkey),
				acr.PhishingResistant: web.RequiredLogin(acr.PhishingResistant)},
			"profile":    profileNames,
			"rotation":   rotationNames,
			"PKCE":       pkceNames,
			"constraint": boundTo,
		}[of]
		for _, name := range names {
			if words[name] == "" && name != acr.Password {
				t.Errorf("the %s %s has no words", of, name)
			}
		}
	}
}
