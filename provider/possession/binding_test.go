package possession

import "testing"

// RFC 7800 §3.1: a token whose cnf this server would not write is not accepted as unbound.
func TestConfirmed(t *testing.T) {
	for _, test := range []struct {
		name string
		cnf  any
		want Binding
		ok   bool
	}{
		{"none", nil, "", true},
		{"a key", map[string]any{"jkt": "k"}, toKey("k"), true},
		{"a certificate", map[string]any{"x5t#S256": "c"}, toCertificate("c"), true},
		{"both", map[string]any{"jkt": "k", "x5t#S256": "c"}, "", false},
		{"a key and something else", map[string]any{"jkt": "k", "kid": "1"}, "", false},
		{"empty", map[string]any{}, "", false},
		{"an empty thumbprint", map[string]any{"jkt": ""}, "", false},
		{"a number", map[string]any{"jkt": 7.0}, "", false},
		{"a whole key", map[string]any{"jwk": map[string]any{"kty": "EC"}}, "", false},
		{"no object", "jkt", "", false},
	} {
		got, ok := Confirmed(test.cnf)
		if got != test.want || ok != test.ok {
			t.Errorf("%s: %q %v", test.name, got, ok)
		}
	}
}

// RFC 9449 §5: what a refresh token with a binding allows.
func TestAllows(t *testing.T) {
	one, other, certificate := toKey("1"), toKey("2"), toCertificate("1")
	for _, test := range []struct {
		stored, shown Binding
		want          bool
	}{
		{"", "", true}, {"", one, true}, {one, one, true}, {one, other, false}, {one, "", false}, {one, certificate, false},
		{one, one.Kind(), false},
		{one.Kind(), one, true}, {one.Kind(), other, true}, {one.Kind(), certificate, false}, {one.Kind(), "", false},
		{certificate.Kind(), certificate, true}, {certificate, one, false},
	} {
		if got := test.stored.Allows(test.shown); got != test.want {
			t.Errorf("%q allows %q: %v", test.stored, test.shown, got)
		}
	}
	if one.Kind().Key() != "" || one.Kind().Confirmation() != nil || certificate.Key() != "" {
		t.Error("a kind, or a certificate, has a key")
	}
}
