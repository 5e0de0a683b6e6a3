package provider

import (
	"reflect"
	"testing"

	"mandate/provider/clients"
)

// The rules for applications have what they need of other components. It has no key of its own.
func TestRulesHaveTheSettings(t *testing.T) {
	c := testConfig()
	c.Open.Schemes = []string{"app.example"}
	c.Open.Clients = []string{clients.OpenRegistration, clients.OpenDocuments}
	rules := reflect.ValueOf(c.rules().Settings)
	for i := range rules.NumField() {
		field := rules.Type().Field(i)
		if field.Tag.Get("key") == "" && field.Type.Kind() != reflect.Struct && rules.Field(i).IsZero() {
			t.Error(field.Name, "is missing")
		}
	}
}
