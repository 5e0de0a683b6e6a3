package rules

import "slices"

const (
	noRegistration = "Mandate does not support dynamic registration: people register applications, on its pages or at the command line."
	noRequests     = "Mandate does not support request objects."
)

// oidcRegistration returns the rules of OpenID Connect Dynamic Client Registration. Mandate does not support it, but
// gives the client metadata the same meaning.
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
		{
			ID: "OIDCRegistration/2/id-token-rs256", Level: Must,
			Text:     "ID tokens are signed with RS256 if the client registered no other algorithm.",
			TestedBy: "conformance/mandate/openid_token_test.go:TestOIDCCore2IDToken",
		},
		{
			// The document allows it for a client of the code flow alone.
			ID: "OIDCRegistration/2/id-token-not-unsigned", Level: May,
			Text:     "A client cannot register none for ID tokens.",
			TestedBy: "cmd/mandate/main_test.go:TestScripts",
		},
		sameCheckAs(oidcUserInfo(), "OIDCCore/5.3.2/content-type", Rule{
			ID: "OIDCRegistration/2/userinfo-plain", Level: Must,
			Text: "UserInfo returns JSON if the client registered no algorithm.",
		}),
		{
			ID: "OIDCRegistration/2/userinfo-signed", Level: Must,
			Text:     "UserInfo returns a JWT with the registered algorithm.",
			TestedBy: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoSigned",
		},
		{
			ID: "OIDCRegistration/2/secret-for-hmac", Level: Must,
			Text:     "HS256 requires a client secret, which a public client does not have.",
			TestedBy: "cmd/mandate/main_test.go:TestScripts",
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
			ID: "OIDCRegistration/2.1/languages", Level: May,
			Text:         "A client can have names and pages in several languages.",
			Inapplicable: "An application has one name.",
		},
	}
}

// oidcRegistrationSecurity returns the rules about sector identifiers and impersonation (OIDC Registration §5, §9).
func oidcRegistrationSecurity() []Rule {
	return []Rule{
		{
			ID: "OIDCRegistration/5/sector-identifier", Level: Must,
			Text:         "The redirect URIs are listed in the file at sector_identifier_uri.",
			Inapplicable: "Mandate does not support sector_identifier_uri: the sector is the host of the redirect URIs.",
		},
		{
			ID: "OIDCRegistration/9.1/impersonation", Level: Should,
			Text:         "The server shows names and logos that strangers registered with care.",
			Inapplicable: noRegistration,
		},
	}
}
