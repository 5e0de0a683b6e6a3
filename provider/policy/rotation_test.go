package policy

import (
	"testing"

	"mandate/storage"
)

// Every kind of client, with every value of the setting of the application and of the server.
func TestRotatesRefresh(t *testing.T) {
	for name, test := range map[string]struct {
		app   storage.Application
		bound bool
		want  string // unset, on and off with the server's rotation on, and the same with it off
	}{
		"public and unbound":     {storage.Application{ClientType: Public}, false, "yyy yyy"},
		"public and bound":       {storage.Application{ClientType: Public}, true, "nyn nyn"},
		"confidential":           {storage.Application{ClientType: Confidential}, false, "yyn nyn"},
		"confidential and bound": {storage.Application{ClientType: Confidential}, true, "yyn nyn"},
		"fapi2": {storage.Application{ClientType: Confidential, Profile: ProfileFAPI}, true,
			"nnn nnn"},
		"fapi2-message-signing": {storage.Application{ClientType: Confidential, Profile: ProfileMessages}, true,
			"nnn nnn"},
		"fapi2, before it was switched": {storage.Application{ClientType: Confidential, Profile: ProfileFAPI}, false,
			"nnn nnn"},
		"public, with a profile as well": {storage.Application{ClientType: Public, Profile: ProfileFAPI}, false, "yyy yyy"},
	} {
		got := ""
		for _, server := range []bool{true, false} {
			if !server {
				got += " "
			}
			for _, own := range append([]string{""}, Rotations()...) {
				test.app.RefreshRotation = own
				if RotatesRefresh(test.app, test.bound, server) {
					got += "y"
				} else {
					got += "n"
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
