package tokens

import (
	"encoding/base64"
	"strings"
	"testing"

	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

func TestRandomTexts(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		for _, prefix := range []string{CodePrefix, DevicePrefix, AccessPrefix, refreshPrefix} {
			text, sum := NewOpaque(prefix)
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, prefix))
			if err != nil || len(raw) != 32 || !strings.HasPrefix(text, prefix) || sum != seal.Digest(text) || seen[text] {
				t.Fatal(text, sum, err)
			}
			seen[text] = true
		}
	}
}

// When the session ends a grant (OIDC Core §11), and which application is notified of the
// logout (OIDC Back-Channel §2.3).
func TestGrantBySession(t *testing.T) {
	const address, owner = "https://app.example/logout", "owner"
	for _, test := range []struct {
		openID      bool
		scopes      string
		ends        int64
		backchannel string
		owner       *string
		notified    string
	}{
		{true, "openid", 7, address, nil, "app"},
		{true, "read openid", 7, address, new(owner), owner},
		{true, "openid", 7, "", new(owner), ""},
		{true, "openid offline_access", 0, address, nil, "app"},
		{true, "read", 0, address, nil, ""},
		{true, "read offline_access", 0, address, nil, ""},
		{false, "openid", 0, address, nil, ""},
	} {
		p := &Tokens{config: Config{OpenID: test.openID}, rules: policy.New(policy.Settings{OpenID: test.openID})}
		g, notified := p.GrantBy(&storage.SignedIn{Session: storage.Session{ExpiresAt: 7}}, "any",
			storage.Application{ID: "app", OwnerID: test.owner, BackchannelURI: test.backchannel}, strings.Fields(test.scopes))
		if g.SessionEndsAt != test.ends || notified != test.notified || g.Scope != test.scopes {
			t.Errorf("%+v: it ends at %d, %q is notified", test, g.SessionEndsAt, notified)
		}
	}
}
