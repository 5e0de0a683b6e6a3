package provider

import (
	"slices"
	"testing"
)

// RFC 8414 §2: the metadata lists what the token endpoint supports.
func TestMetadataListsTheGrants(t *testing.T) {
	m, err := begin(t).Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"authorization_code", "client_credentials", "password",
		"urn:ietf:params:oauth:grant-type:device_code", "refresh_token"}; !slices.Equal(m.GrantTypesSupported, want) {
		t.Errorf("grant_types_supported: %v, want %v", m.GrantTypesSupported, want)
	}
}
