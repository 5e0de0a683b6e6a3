package mandate

import (
	"testing"
)

// boundRegistrations alters the tokens that register and manage applications. Only the
// unchanged text works, and only for its own client.
func (v *fixture) boundRegistrations(t *testing.T) {
	initial := v.initialToken(t, "--uses", "3")
	const metadata = `{"redirect_uris":["https://bound.example/"]}`
	for _, text := range printable(altered(initial)) {
		if err := v.registration(t, bearer(text), metadata).refused(401, "invalid_token"); err != nil {
			t.Fatalf("%q instead of %q: %v", text, initial, err)
		}
	}
	one, other := v.registers(t, bearer(initial), metadata), v.registers(t, bearer(initial), metadata)
	if textOf(one, "client_id") == textOf(other, "client_id") ||
		textOf(one, "registration_access_token") == textOf(other, "registration_access_token") ||
		textOf(one, "client_secret") == textOf(other, "client_secret") {
		t.Error("two registrations with an initial access token share a client, a token or a secret")
	}
	at, token := textOf(one, "registration_client_uri"), textOf(one, "registration_access_token")
	for _, text := range append(printable(altered(token)), textOf(other, "registration_access_token"),
		textOf(one, "client_secret"), initial) {
		if err := v.send(t, "GET", at, bearer(text), nil).refused(401, "invalid_token"); err != nil {
			t.Fatalf("%q instead of %q: %v", text, token, err)
		}
	}
	// RFC 7592 §2: the token belongs to the client of the address, not to that of the body.
	body := member{"client_id": other["client_id"], "redirect_uris": []string{"https://evil.example/"}}
	if err := v.send(t, "PUT", at, bearer(token), body).refused(400, "invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	if err := v.send(t, "PUT", textOf(other, "registration_client_uri"), bearer(token), body).refused(401,
		"invalid_token"); err != nil {
		t.Error(err)
	}
	// An application that a person registered has no such token.
	if err := v.send(t, "GET", "/o/register/"+v.web.ClientID+"/", bearer(token), nil).refused(401,
		"invalid_token"); err != nil {
		t.Error(err)
	}
	v.registers(t, bearer(initial), metadata)
	if err := v.registration(t, bearer(initial), metadata).refused(401, "invalid_token"); err != nil {
		t.Errorf("the fourth of three uses: %v", err)
	}
}
