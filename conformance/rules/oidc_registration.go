package rules

const (
	noRegistration = "Mandate has no dynamic registration: people register applications, on its pages or at the command line."
	noRequests     = "There are no request objects."
)

// Dynamic client registration, which Mandate does not offer. What it takes from the document is how a
// client's metadata is understood.
func oidcRegistration() []Rule {
	return []Rule{
		{
			ID: "OIDCRegistration/2/redirect-uris", Level: Must,
			Text:      "A client of the code flow has registered redirect URIs, and one of them is matched exactly.",
			Elsewhere: "conformance/mandate/redirect_test.go:TestRedirect",
		},
		{
			ID: "OIDCRegistration/2/id-token-rs256", Level: Must,
			Text:      "ID tokens are signed by RS256 where nothing else was agreed.",
			Elsewhere: "conformance/mandate/openid_token_test.go:TestOIDCCore2IDToken",
		},
		{
			ID: "OIDCRegistration/2/id-token-not-unsigned", Level: Must,
			Text:      "none cannot be chosen for ID tokens.",
			Elsewhere: "cmd/mandate/main_test.go:TestScripts",
		},
		{
			ID: "OIDCRegistration/2/userinfo-plain", Level: Must,
			Text:      "UserInfo answers with plain JSON where no algorithm was agreed.",
			Elsewhere: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoClaims",
		},
		{
			ID: "OIDCRegistration/2/userinfo-signed", Level: Must,
			Text:      "UserInfo answers with a JWT by the algorithm that was agreed.",
			Elsewhere: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoSigned",
		},
		{
			ID: "OIDCRegistration/2/secret-for-hmac", Level: Must,
			Text:      "HS256 is for clients that have a secret, and a public one has none.",
			Elsewhere: "cmd/mandate/main_test.go:TestScripts",
		},
		{
			ID: "OIDCRegistration/2/subject-type", Level: Must,
			Text:      "A client has public or pairwise subjects, as registered.",
			Elsewhere: "conformance/mandate/openid_token_test.go:TestOIDCCore8Subjects",
		},
		{
			ID: "OIDCRegistration/2/request-objects", Level: Must,
			Text:         "request_object_signing_alg and request_uris of a client are kept to.",
			Inapplicable: noRequests,
		},
		{
			ID: "OIDCRegistration/2/encryption", Level: Must,
			Text:         "Where a client registers encryption, its ID tokens and UserInfo answers are signed and then encrypted.",
			Inapplicable: "Nothing is encrypted.",
		},
		{
			ID: "OIDCRegistration/2.1/languages", Level: May,
			Text:         "A client has names and pages in several languages.",
			Inapplicable: "An application has one name.",
		},
		{
			ID: "OIDCRegistration/3/registration-endpoint", Level: Must,
			Text:         "A client that posts its metadata gets a client_id that no other has.",
			Inapplicable: noRegistration,
		},
		{
			ID: "OIDCRegistration/3.2/response", Level: Must,
			Text:         "A registration is answered with 201, and with what was registered.",
			Inapplicable: noRegistration,
		},
		{
			ID: "OIDCRegistration/3.3/error", Level: Must,
			Text:         "Wrong metadata is answered with 400 and the error that says what is wrong.",
			Inapplicable: noRegistration,
		},
		{
			ID: "OIDCRegistration/4/configuration-endpoint", Level: Must,
			Text:         "What was registered is read at the client's own address, with its registration access token.",
			Inapplicable: noRegistration,
		},
		{
			ID: "OIDCRegistration/5/sector-identifier", Level: Must,
			Text:         "With a sector_identifier_uri the redirect URIs have to stand in the file that is there.",
			Inapplicable: "There is no sector_identifier_uri: the sector is the one host of the redirect URIs.",
		},
		{
			ID: "OIDCRegistration/9.1/impersonation", Level: Should,
			Text:         "Names and pictures that strangers register are shown with care.",
			Inapplicable: noRegistration,
		},
	}
}
