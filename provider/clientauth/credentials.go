package clientauth

import (
	"net/http"
	"net/url"

	"mandate/provider/mtls"
	"mandate/provider/oauth"
)

// credentials is what a client sends to authenticate: its client id, and a client secret or
// an assertion.
type credentials struct {
	id, secret string
	assertion  string
	method     string // by which the secret was sent
	decoded    bool   // decoding has changed the client id or the secret
	place      *place // of the assertion
}

// clientCredentials reads the credentials of a request, which must use exactly one
// authentication method.
func clientCredentials(r *http.Request, form url.Values) (credentials, error) {
	header := r.Header.Values("Authorization")
	if at := placesIn(r.Header, form); len(at) > 0 {
		// RFC 6749 §2.3: not more than one authentication method in one request.
		if len(at) > 1 || len(header) > 0 || form.Has("client_secret") {
			return credentials{}, oauth.Refuse(
				"invalid_request",
				"The client authenticates in more than one way: use either the client assertion, or the Authorization header, or "+
					"client_secret.",
			)
		}
		sent, err := at[0].read(r.Header, form)
		sent.place = at[0]
		return sent, err
	}
	body := credentials{id: form.Get("client_id"), secret: form.Get("client_secret"), method: MethodPost}
	if len(header) == 0 {
		if body.id == "" {
			return credentials{}, invalidClient("The request does not identify the client: use HTTP Basic, " +
				"client_id and client_secret in the body, a client assertion, or client_id with a client certificate.")
		}
		return body, nil
	}
	// RFC 6749 §2.3: not more than one authentication method in one request.
	if len(header) > 1 || body.secret != "" {
		return credentials{}, oauth.Refuse("invalid_request",
			"The client authenticates in more than one way: use either the Authorization header or client_secret.")
	}
	basic, err := parseBasic(header[0])
	if err != nil {
		return credentials{}, err
	}
	basic.method = MethodBasic
	// A client cannot authenticate as one client and act as another.
	if body.id != "" && body.id != basic.id {
		return credentials{}, oauth.Refuse("invalid_request", "client_id in the body is not the client that authenticates.")
	}
	if basic.secret == "" {
		return credentials{},
			invalidClient("The client secret is empty. A public application sends client_id in the body, and no Authorization " +
				"header.")
	}
	return basic, nil
}

// SendsCredentials reports whether a request authenticates as a client, but for a certificate.
func SendsCredentials(r *http.Request, form url.Values) bool {
	return len(r.Header.Values("Authorization")) > 0 || form.Has("client_secret") || HasAssertion(r.Header, form)
}

// SendsCertificate reports whether a request names a client and comes with a certificate.
func SendsCertificate(r *http.Request, form url.Values) bool {
	sent, err := mtls.Of(r.Context())
	return form.Has("client_id") && (sent != nil || err != nil)
}

// HasAssertion reports whether a request has a client assertion, or a part of one.
func HasAssertion(header http.Header, form url.Values) bool { return len(placesIn(header, form)) > 0 }
