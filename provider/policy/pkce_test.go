package policy

import (
	"testing"

	"mandate/storage"
)

// RFC 9700 §2.1.1: PKCE protects a code from whoever steals it. A confidential client may rely on the nonce of OpenID
// Connect, and an administrator may answer for one that has neither.
func TestNeedsPKCE(t *testing.T) {
	administrators := storage.Application{ClientType: Confidential, Responsible: storage.ByOperator}
	persons := OwnedBy(storage.User{Active: true})
	persons.ClientType = Confidential
	open := storage.Application{ClientType: Confidential, Responsible: storage.ByNobody}
	public, bank, token := administrators, administrators, administrators
	token.Management = storage.ManagedAlone
	public.ClientType, bank.Profile = Public, ProfileFAPI
	type answers struct{ forAll, forPublic, forPublicOnly bool }
	always, never := answers{true, true, true}, answers{}
	for name, test := range map[string]struct {
		app   storage.Application
		own   string
		nonce bool
		want  answers
	}{
		"an administrator's":           {administrators, "", false, answers{true, false, false}},
		"an administrator's, required": {administrators, PKCERequired, true, always},
		"an administrator's, if sent":  {administrators, PKCEIfSent, false, never},
		"a person's":                   {persons, "", false, answers{true, true, false}},
		"a person's, with a nonce":     {persons, "", true, answers{true, false, false}},
		"a person's, required":         {persons, PKCERequired, true, always},
		// as it was before the owner lost the right
		"a person's, if sent":     {persons, PKCEIfSent, false, answers{true, true, false}},
		"a token's":               {token, "", false, answers{true, true, false}},
		"a token's, with a nonce": {token, "", true, answers{true, false, false}},
		"a token's, if sent":      {token, PKCEIfSent, false, never}, // an administrator has changed it
		"nobody's":                {open, "", true, always},
		"nobody's, if sent":       {open, PKCEIfSent, true, always},
		"public":                  {public, "", true, always},
		"public, if sent":         {public, PKCEIfSent, true, always}, // cannot be registered
		"with a profile":          {bank, "", true, always},
		"with a profile, if sent": {bank, PKCEIfSent, true, always}, // cannot be registered
	} {
		a := test.app
		a.PKCE = test.own
		for server, want := range map[string]bool{PKCEForAll: test.want.forAll, PKCEForPublic: test.want.forPublic,
			PKCEForPublicOnly: test.want.forPublicOnly} {
			if got := New(Settings{PKCE: server}).NeedsPKCE(a, test.nonce); got != want {
				t.Errorf("%s, PKCE_REQUIRED %s: %t", name, server, got)
			}
		}
	}
}
