package conformance

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Roles, registration and client authentication (RFC 6749 §1, §2).
func rfc6749Clients() []Rule {
	return []Rule{
		{
			ID: "RFC6749/1.1/servers-apart", Level: May,
			Text:      "The resource server may be apart from the authorization server, and need know it by its addresses only.",
			Elsewhere: "conformance/mandate/walk_resource_test.go:TestWalkResourceServer",
		},
		{
			ID: "RFC6749/2.1/client-type-not-guessed", Level: Should,
			Text:      "The server makes no assumption about whether a client is confidential: its registration says so.",
			Elsewhere: "conformance/mandate/spec_application_test.go:TestSpecApplicationKinds",
		},
		{
			ID: "RFC6749/2.1/public-allowed", Level: May,
			Text:  "Public clients are let in beside confidential ones, with no secret.",
			Needs: []Need{NeedAuthorization, NeedToken, NeedPublic, NeedUser},
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(NeedPublic))))) },
		},
		{
			ID: "RFC6749/2.2/client-id-unique", Level: Must,
			Text:      "No two clients have the same identifier.",
			Elsewhere: "storage/application_test.go:TestClientIDIsTakenOnce",
		},
		{
			ID: "RFC6749/2.2/client-id-size-documented", Level: Should,
			Text:         "The documentation tells the size of client identifiers.",
			Inapplicable: "It asks for a sentence in the documentation, which README.md has under its security model.",
		},
		{
			ID: "RFC6749/2.3/public-client-not-relied-on", Level: Must,
			Text:         "Authentication of a public client is not relied on to know who it is.",
			Inapplicable: "Public clients have no credentials here, and every request of theirs is asked about anew.",
		},
		{
			ID: "RFC6749/2.3/one-method", Level: Must,
			Text:  "A request that authenticates the client in two ways at once is refused.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				t.plainly()
				both := t.asMachine(Basic(c.ID, c.Secret), "client_id", c.ID, "client_secret", c.Secret)
				t.WantRefused(both, "the client authenticated by the header and in the body")
			},
		},
		{
			ID: "RFC6749/2.3.1/basic-supported", Level: Must,
			Text:  "A client that was given a secret can authenticate by HTTP Basic.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				if c.Auth != clientSecretBasic {
					t.Skipf("the client machine is registered for %s", c.Auth)
				}
				t.WantGranted(t.asMachine(Basic(c.ID, c.Secret)))
			},
		},
		{
			ID: "RFC6749/2.3.1/basic-form-encoded", Level: Must,
			Text:  "Client identifier and secret are form-decoded after Basic is taken apart.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				t.Granted(t.asMachine(Basic(c.ID, c.Secret)))
				encoded := percentEncoded(c.ID) + ":" + percentEncoded(c.Secret)
				header := "Basic " + base64.StdEncoding.EncodeToString([]byte(encoded))
				t.WantGranted(t.asMachine(Header("Authorization", header)))
			},
		},
		{
			ID: "RFC6749/2.3.1/in-body", Level: May,
			Text:  "A client can send its identifier and secret in the body instead.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				t.WantGranted(t.asMachine(InBody(c.ID, c.Secret)))
			},
		},
		{
			ID: "RFC6749/2.3.1/not-in-uri", Level: Must,
			Text:  "Client credentials in the request URI authenticate nobody.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				query := params("client_id", c.ID, "client_secret", c.Secret)
				a := t.Post(t.Endpoint(NeedToken)+"?"+query.Encode(), params("grant_type", "client_credentials"))
				t.WantRefused(a, "the secret stood in the query")
			},
		},
		{
			ID: "RFC6749/2.3.1/tls", Level: Must,
			Text:  "Client secrets travel by TLS only.",
			Needs: []Need{NeedToken},
			Check: func(t *T) { t.wantTLS(t.Endpoint(NeedToken)) },
		},
		{
			ID: "RFC6749/2.3.1/brute-force", Level: Must,
			Text:      "Whoever guesses at client secrets is slowed.",
			Elsewhere: "provider/client_test.go:TestChosenSecretIsSlowed",
		},
		{
			ID: "RFC6749/2.3.2/other-methods-mapped", Level: Must,
			Text:         "A server with further methods of authentication knows which client uses which.",
			Inapplicable: "There is no further method: assertions and certificates are refused.",
		},
	}
}

// percentEncoded encodes each character, also those that need it not.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}
