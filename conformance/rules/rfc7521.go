package rules

import (
	"net/http"
	"net/url"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7521 has the checks of the rules about the parameters of client authentication by an assertion, which RFC 7523
// makes a JWT.
var rfc7521 = checks{
	"RFC7521/4.2/client-id-optional": func(t *T) {
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
	"RFC7521/4.2/client-id": func(t *T) {
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
}
