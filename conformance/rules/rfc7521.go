package rules

import (
	"net/http"
	"net/url"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7521 returns the rules about the parameters of client authentication by an assertion, which RFC 7523 makes a JWT.
func rfc7521() []Rule {
	return []Rule{
		{
			ID: "RFC7521/4.2/client-id-optional", Level: Must,
			Text:  "A client that authenticates by an assertion, which names it, does not have to send client_id.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Key)
				as := func(change func(url.Values)) wire.Auth {
					return func(header http.Header, form url.Values) {
						c.Credentials()(header, form)
						change(form)
					}
				}
				t.Granted(asKey(t, as(func(form url.Values) { form.Set("client_id", c.ID) })))
				t.WantGranted(asKey(t, as(func(form url.Values) { form.Del("client_id") })))
			},
		},
		{
			ID: "RFC7521/4.2/client-id", Level: Must,
			Text:  "A client_id beside an assertion is that of its subject.",
			Needs: keyNeeds(need.SecondKey),
			Check: func(t *T) {
				c, other := keyClient(t), t.Client(need.SecondKey)
				as := func(id string) wire.Auth {
					return func(header http.Header, form url.Values) {
						c.Credentials()(header, form)
						form.Set("client_id", id)
					}
				}
				t.Granted(asKey(t, as(c.ID)))
				t.WantRefused(asKey(t, as(other.ID)), "client_id was that of another client")
			},
		},
	}
}
