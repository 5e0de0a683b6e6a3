package provider

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/policy"
)

// The rules for applications have every setting of the configuration that they need.
func TestRulesHaveTheSettings(t *testing.T) {
	c := testConfig()
	restricted(&c)
	c.OpenID, c.PersonQuota, c.OpenQuota = true, policy.Quota{Applications: 1}, policy.Quota{Applications: 2}
	c.Open.Schemes = []string{"app.example"}
	c.PKCE = policy.PKCEForPublic
	c.Open.Clients = []string{clients.OpenRegistration}
	c.StrictScopes, c.RefreshGrace, c.OpenRefreshGrace = true, time.Second, time.Second
	from, to := reflect.ValueOf(c), reflect.ValueOf(c.rules().Settings)
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if to.Field(i).Kind() == reflect.Func { // it decides by the whole of Open
			if to.Field(i).IsNil() {
				t.Error(name, "is missing")
			}
			continue
		}
		of := from.FieldByName(name)
		switch name {
		case "AllowsRegistration":
			of = reflect.ValueOf(c.Open.Registration())
		case "KeyMethods": // no setting: the methods themselves say it
			of = reflect.ValueOf(clientauth.KeyMethods())
		case "OpenSchemes":
			of = from.FieldByName("Open").FieldByName("Schemes")
		}
		now := to.Field(i)
		if name == "Scopes" {
			now = now.Slice(0, of.Len()) // the built-in ones follow
		}
		if d := cmp.Diff(of.Interface(), now.Interface()); d != "" || to.Field(i).IsZero() {
			t.Error(name, d)
		}
	}
	for _, standing := range policy.Standings() {
		if d := cmp.Diff(c.rules().Allowance(standing), c.Allowance(standing)); d != "" {
			t.Error(standing, d)
		}
	}
}
