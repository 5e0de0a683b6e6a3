package conformance

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Authorization server metadata.
func rfc8414() []Rule { return slices.Concat(rfc8414Values(), rfc8414Document()) }

// rfc8414Document is how the metadata is published.
func rfc8414Document() []Rule {
	return []Rule{
		{
			ID: "RFC8414/3/well-known", Level: Must,
			Text: "The metadata is where the issuer's host, /.well-known/oauth-authorization-server and the issuer's path lead in this order.",
			Check: func(t *T) {
				if a := t.get8414(); a.Status/100 != 2 || a.JSON() == nil {
					t.Failf("there is no JSON object: %s", a)
				}
			},
		},
		{
			ID: "RFC8414/3/https", Level: Must,
			Text: "The metadata is fetched by TLS.",
			Check: func(t *T) {
				t.published()
				t.wantTLS(metadataAddresses(t.Issuer())[0])
			},
		},
		{
			ID: "RFC8414/3/several-locations", Level: May,
			Text:  "An OpenID Provider says the same of itself at the suffix of OpenID Connect.",
			Needs: []Need{NeedOpenID},
			Check: func(t *T) {
				if !reflect.DeepEqual(t.published(), t.discovered()) {
					t.Failf("the two descriptions differ")
				}
			},
		},
		{
			ID: "RFC8414/3.1/issuers-apart", Level: Must,
			Text: "By the path of another issuer nothing is had that this one says of itself.",
			Check: func(t *T) {
				t.published()
				other := strings.TrimSuffix(t.Issuer(), "/") + "/conformance-" + strings.ToLower(t.Random())
				a := t.Get(metadataAddresses(other)[0])
				if a.Status == http.StatusOK && a.JSON()["issuer"] != nil && a.Text("issuer") != other {
					t.Failf("what is there for the issuer %s is of the issuer %s", other, a.Text("issuer"))
				}
			},
		},
		{
			ID: "RFC8414/3.2/status-200", Level: Must,
			Text: "The metadata comes with the status 200.",
			Check: func(t *T) {
				a := t.get8414()
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				t.WantStatus(a, http.StatusOK)
			},
		},
		{
			ID: "RFC8414/3.2/json", Level: Must,
			Text: "The metadata is of the type application/json.",
			Check: func(t *T) {
				a := t.get8414()
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				if a.MediaType() != "application/json" {
					t.Failf("it is of the type %q", a.MediaType())
				}
			},
		},
		{
			ID: "RFC8414/3.2/several-values-in-arrays", Level: Must,
			Text:  "What has several values is an array.",
			Check: func(t *T) { t.wantArrays(t.published()) },
		},
		{
			ID: "RFC8414/3.2/no-empty-claims", Level: Must,
			Text:  "What has no elements is left out.",
			Check: func(t *T) { t.wantNothingEmpty(t.published()) },
		},
		{
			ID: "RFC8414/3.2/error-status", Level: Must,
			Text: "What cannot be answered has the HTTP status that says so: 404 where there is no such issuer.",
			Check: func(t *T) {
				t.published()
				other := strings.TrimSuffix(t.Issuer(), "/") + "/conformance-" + strings.ToLower(t.Random())
				if a := t.Get(metadataAddresses(other)[0]); a.Status/100 == 2 && a.JSON()["issuer"] == nil {
					t.Failf("no metadata, and yet %s", a)
				}
			},
		},
		{
			ID: "RFC8414/3.3/issuer-identical", Level: Must,
			Text: "The issuer in the metadata is, letter by letter, the one by which it was found.",
			Check: func(t *T) {
				if issuer := t.published().text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer is %q, found by %q", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "RFC8414/6.1/tls-12", Level: Must,
			Text:         "The server supports TLS 1.2.",
			Inapplicable: "TLS ends at the proxy in front of Mandate.",
		},
	}
}
