package mandate

import (
	"encoding/json"
	"testing"
)

// noCode asks without a code challenge, and asserts that no code comes.
func (b *browser) noCode(t *testing.T, what string, app application, more ...string) {
	t.Helper()
	address, _ := b.server.authorizeURL(app, append(more, "code_challenge", "", "code_challenge_method", "")...)
	b.open(t, address)
	if b.shows("decision") || b.Away != nil && b.Away.Query().Has("code") {
		t.Errorf("%s: without PKCE: %d, sent to %v", what, b.Status, b.Away)
	}
}

// TestAttackPKCEDowngrade: an attacker changes the authorization request of an application that uses PKCE, and redeems
// or injects the code.
func TestAttackPKCEDowngrade(t *testing.T) {
	t.Parallel()
	attack(t, "PKCE downgrade", "CVE-2024-22258 (Spring); CVE-2025-4144 (workers-oauth-provider)")
	v := newFixture(t, options{})
	b := v.signedIn(t, v.alice)
	stripped := []string{"code_challenge", "", "code_challenge_method", ""}
	for what, form := range map[string]map[string][]string{
		// RFC 9700 §4.8.2: the application still sends its verifier, which shows what happened.
		"the challenge was removed, and the verifier is sent": b.issue(t, v.web, v.alice, stripped...),
		"the verifier is left out":                            with(b.issue(t, v.web, v.alice), "code_verifier", ""),
		"the challenge is sent as the verifier":               b.challengeAsVerifier(t, v.web, v.alice),
	} {
		if err := v.post(t, "/o/token/", v.web.auth(), form).refused(400, "invalid_grant"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	verifier, challenge := newPKCE()
	for what, more := range map[string][]string{
		"plain":                {"code_challenge", verifier, "code_challenge_method", "plain"},
		"no method":            {"code_challenge", challenge, "code_challenge_method", ""},
		"the challenge is cut": {"code_challenge", "", "code_challenge_method", "S256"},
	} {
		address, _ := v.authorizeURL(v.web, more...)
		b.open(t, address)
		if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" {
			t.Errorf("%s: %d, sent to %v", what, b.Status, b.Away)
		}
	}
}

func (b *browser) challengeAsVerifier(t *testing.T, app application, p person) map[string][]string {
	_, challenge := newPKCE()
	return with(b.issue(t, app, p, "code_challenge", challenge), "code_verifier", challenge)
}

// TestAttackPKCELeftOutByRegistration: whoever registers an application lets it come without PKCE by its metadata.
func TestAttackPKCELeftOutByRegistration(t *testing.T) {
	t.Parallel()
	attack(t, "privilege by registration", "")
	s := startServer(t, options{provider: append([]string{"OIDC_ENABLED: true", openidScopes, "DEFAULT_SCOPES: [read]"},
		openClients...)})
	b := s.signedIn(t, s.person(t, "victim"))
	const back = "https://tool.example/back"
	metadata := func(more member) member {
		more["redirect_uris"], more["scope"] = []string{back}, "openid read"
		return more
	}
	// Nobody is responsible for it, so a nonce is not enough either.
	keys := json.RawMessage(newStatementIssuer(t, "stranger").keySet(t))
	open := s.registers(t, nobody,
		metadata(member{"pkce": "if-sent", "token_endpoint_auth_method": "private_key_jwt", "jwks": keys}))
	if open["pkce"] != nil || textOf(open, "token_endpoint_auth_method") != "private_key_jwt" {
		t.Errorf("registered by a stranger: %v", open)
	}
	b.noCode(t, "a stranger's", asApplication(open, back), "scope", "openid read", "nonce", "n")

	// The holder of an administrator's token is not the administrator.
	token := bearer(s.initialToken(t, "--uses", "2"))
	left := s.registers(t, token, metadata(member{"pkce": "if-sent"}))
	if left["pkce"] != nil {
		t.Errorf("registered with a token: %v", left)
	}
	b.noCode(t, "one of a token, without a nonce", asApplication(left, back), "scope", "openid read")
	made := s.registers(t, token, metadata(member{"pkce": "required"}))
	at, manage, id := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
		textOf(made, "client_id")
	for what, more := range map[string]member{"left out": {}, "if-sent": {"pkce": "if-sent"}} {
		more["client_id"] = id
		changed := s.send(t, "PUT", at, manage, metadata(more))
		if changed.Status != 200 || textOf(changed.JSON(t), "pkce") != "required" {
			t.Errorf("changed, %s: %d %s", what, changed.Status, changed.Body)
		}
	}
	b.noCode(t, "one that requires it", asApplication(made, back), "scope", "openid read", "nonce", "n")
	if err := s.registration(t, nobody, metadata(member{"pkce": "never"})).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
}
