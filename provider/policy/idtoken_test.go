package policy

import (
	"testing"

	"mandate/storage"
)

// Every kind of application, with every value of its setting.
func TestClaimsInIDToken(t *testing.T) {
	kind := func(clientType, profile string, a storage.Application) storage.Application {
		a.ClientType, a.Profile = clientType, profile
		return a
	}
	operators, nobodys := storage.Application{Responsible: storage.ByOperator},
		storage.Application{Responsible: storage.ByNobody}
	came := owned(storage.ByOwner, true, true)
	came.Origin = storage.FromRegistration
	for name, test := range map[string]struct {
		app  storage.Application
		want string // unset, on and off
	}{
		"the operator's":                        {kind(Confidential, "", operators), "yyn"},
		"the operator's, public":                {kind(Public, "", operators), "nyn"},
		"an administrator's":                    {kind(Confidential, "", owned(storage.ByOwner, true, true)), "yyn"},
		"an administrator's, registered itself": {kind(Confidential, "", came), "yyn"},
		"an administrator's, public":            {kind(Public, "", owned(storage.ByOwner, true, true)), "nyn"},
		"an administrator's, disabled":          {kind(Confidential, "", owned(storage.ByOwner, false, true)), "nnn"},
		"a person's":                            {kind(Confidential, "", owned(storage.ByOwner, true, false)), "nnn"},
		"nobody's, with a private key":          {kind(Confidential, "", nobodys), "nnn"},
		"nobody's, public":                      {kind(Public, "", nobodys), "nnn"},
		"the operator's, fapi2":                 {kind(Confidential, ProfileFAPI, operators), "nnn"},
		"the operator's, fapi2-message-signing": {kind(Confidential, ProfileMessages, operators), "nnn"},
		"a person's, fapi2": {kind(Confidential, ProfileFAPI, owned(storage.ByOwner, true, false)),
			"nnn"},
	} {
		got := ""
		for _, own := range append([]string{""}, ClaimsValues()...) {
			test.app.ClaimsInIDToken = own
			if New(settings()).ClaimsInIDToken(test.app) {
				got += "y"
			} else {
				got += "n"
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
