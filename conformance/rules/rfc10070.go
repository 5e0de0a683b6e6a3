package rules

import (
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc10070 has the checks of the rules about the audience and the type of the assertions by which clients authenticate.
var rfc10070 = checks{
	"RFC10070/4/issuer": func(t *T) {
		c := t.Client(need.Key)
		a := asKey(t, c.Asserting(nil, map[string]any{"aud": t.Issuer()}))
		if a.Granted() {
			return
		}
		// A server that accepts this one knows the client.
		t.Granted(asKey(t, c.Asserting(nil, map[string]any{"aud": t.Endpoint(need.Token)})))
		t.At(a)
		t.Failf("an assertion for the issuer is refused (%s), and one for the token endpoint is accepted", t.Failure(a))
	},
	"RFC10070/4/array": func(t *T) {
		t.WantGranted(asKey(t, keyClient(t).Asserting(nil, map[string]any{"aud": []string{t.Issuer()}})))
	},
	"RFC10070/4/sole-audience": wrongClaims("its aud has two values", func(t *T) map[string]any {
		return map[string]any{"aud": []string{t.Issuer(), "https://other.example"}}
	}),
	"RFC10070/4/endpoints": func(t *T) {
		c := keyClient(t)
		for _, name := range []Need{need.Token, need.PushedRequests} {
			if !t.Has(name) {
				continue
			}
			address := t.OptionalEndpoint(name)
			t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"aud": address})), "its aud is "+address)
		}
	},
	"RFC10070/4/type": func(t *T) {
		c := keyClient(t)
		for _, kind := range []any{"client-authentication+jwt", nil} {
			a := asKey(t, c.Asserting(map[string]any{"typ": kind}, nil))
			if !a.Granted() {
				t.At(a)
				t.Errorf("an assertion with the type %s is refused: %s", Quoted(kind), a.Failure())
			}
		}
	},
	"RFC10070/4/other-type": func(t *T) {
		c := keyClient(t)
		for _, kind := range []string{"at+jwt", "dpop+jwt", "oauth-authz-req+jwt", "logout+jwt"} {
			t.WantRefused(asKey(t, c.Asserting(map[string]any{"typ": kind}, nil)), "its type is "+kind)
		}
	},
	"RFC10070/4/every-endpoint": rfc10070EveryEndpoint,
}

func rfc10070EveryEndpoint(t *T) {
	c := t.Client(need.Key)
	access := t.Granted(asKey(t, c.Credentials())).Access
	for _, name := range []Need{need.Introspection, need.PushedRequests, need.Revocation} {
		if !t.Has(name) {
			continue
		}
		form := wire.Params("token", access)
		if name == need.PushedRequests {
			form = t.Request(c).Params
		}
		a := t.Post(t.OptionalEndpoint(name), form, c.Asserting(nil, map[string]any{"aud": t.Issuer()}))
		if a.Status == 401 || a.Text("error") == "invalid_client" {
			t.At(a)
			t.Errorf("%s refuses an assertion for the issuer: %s", name, a.Failure())
		}
	}
}
