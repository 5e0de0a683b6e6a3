package rules

import "slices"

const noRequests = "Mandate does not support request objects."

// oidcRegistration returns the rules of OpenID Connect Dynamic Client Registration.
func oidcRegistration() []Rule {
	return slices.Concat(oidcClientMetadata(), oidcRegistrationEndpoint(), oidcRegistrationSecurity())
}

// oidcClientMetadata returns the rules about client metadata (OIDC Registration §2).
func oidcClientMetadata() []Rule {
	return []Rule{
		sameCheckAs(oidcRequest(), "OIDCCore/3.1.2.1/redirect-uri-registered", Rule{
			ID: "OIDCRegistration/2/redirect-uris", Level: Must,
			Text: "A client of the code flow registers redirect URIs, and the server compares them exactly.",
		}),
		sameCheckAs(oidcMandatory(), "OIDCCore/15.1/rs256-by-default", Rule{
			ID: "OIDCRegistration/2/id-token-rs256", Level: Must,
			Text: "ID tokens are signed with RS256 if the client registered no other algorithm.",
		}),
		{
			// The document allows it for a client of the code flow alone.
			ID: "OIDCRegistration/2/id-token-not-unsigned", Level: May,
			Text:  "A client cannot register none for ID tokens.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "none"}) },
		},
		sameCheckAs(oidcUserInfo(), "OIDCCore/5.3.2/content-type", Rule{
			ID: "OIDCRegistration/2/userinfo-plain", Level: Must,
			Text: "UserInfo returns JSON if the client registered no algorithm.",
		}),
		sameCheckAs(oidcUserInfoSigned(), "OIDCCore/5.3.2/signed-signature", Rule{
			ID: "OIDCRegistration/2/userinfo-signed", Level: Must,
			Text: "UserInfo returns a JWT with the registered algorithm.",
		}),
		{
			ID: "OIDCRegistration/2/secret-for-hmac", Level: Must,
			Text:  "HS256 requires a client secret, which a public client does not have.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "HS256", "token_endpoint_auth_method": "none"})
			},
		},
		sameCheckAs(oidcSubjects(), "OIDCCore/8/pairwise-differs", Rule{
			ID: "OIDCRegistration/2/subject-type", Level: Should,
			Text: "A client gets public or pairwise subjects, as registered.",
		}),
		{
			ID: "OIDCRegistration/2/request-objects", Level: Must,
			Text:         "The server respects request_object_signing_alg and request_uris of a client.",
			Inapplicable: noRequests,
		},
		{
			ID: "OIDCRegistration/2/encryption", Level: Must,
			Text:         "If a client registers encryption, its ID tokens and UserInfo responses are signed and then encrypted.",
			Inapplicable: "Mandate does not encrypt.",
		},
		{
			ID: "OIDCRegistration/2/logo-policy-terms", Level: Should,
			Text:     "The server shows people the logo, the policy and the terms of a client.",
			TestedBy: "conformance/mandate/logo_test.go:TestLogoAtLogin",
		},
		{
			ID: "OIDCRegistration/2.1/languages", Level: May,
			Text:     "A client can have names and pages in several languages.",
			TestedBy: registrationTest,
		},
	}
}

// oidcRegistrationSecurity returns the rules about sector identifiers and impersonation (OIDC Registration §5, §9).
func oidcRegistrationSecurity() []Rule {
	return []Rule{
		{
			ID: "OIDCRegistration/5/sector-identifier", Level: Must,
			Text:     "The redirect URIs are listed in the file at sector_identifier_uri.",
			TestedBy: "conformance/mandate/registration_token_test.go:TestRegistrationSector",
		},
		{
			ID: "OIDCRegistration/9.1/impersonation", Level: Should,
			Text:     "The server shows names and logos that strangers registered with care.",
			TestedBy: "conformance/mandate/registration_consent_test.go:TestRegistrationPagesAtConsent",
		},
	}
}

// wantNotRegistered asserts that a value of the metadata is refused, or replaced by another one.
func wantNotRegistered(t *T, metadata map[string]any) {
	a := registerWith(t, metadata)
	same := true
	for name, value := range metadata {
		same = same && Quoted(a.JSON()[name]) == Quoted(value)
	}
	// A server may give a secret to a client whose method is none, so that it can sign.
	if a.Status/100 == 2 && same && (metadata["id_token_signed_response_alg"] != "HS256" || a.Text("client_secret") == "") {
		t.Errorf("the server registered a client with %s", Quoted(metadata))
	}
}
