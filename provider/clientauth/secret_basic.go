package clientauth

import (
	"encoding/base64"
	"net/url"
	"strings"

	"mandate/provider/metadata"
	"mandate/provider/oauth"
)

// MethodBasic is the client secret by HTTP Basic (RFC 7617).
const MethodBasic = metadata.MethodBasic

var secretBasic = Method{
	Name:     MethodBasic,
	Label:    "Secret by HTTP Basic",
	Needs:    Secret,
	Strength: SharedSecret,
	prove:    (*Checks).proveSecret,
}

// parseBasic reads the credentials in an Authorization header. It returns an Error with
// the code invalid_client if the header is malformed.
//
// RFC 6749 §2.3.1: client id and secret are each form-encoded before RFC 7617 joins
// them.
func parseBasic(header string) (credentials, error) {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return credentials{}, invalidClient("The Authorization header does not use the scheme Basic.")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return credentials{}, invalidClient("The Basic credentials are not Base64.")
	}
	id, secret, found := strings.Cut(string(raw), ":")
	if !found {
		return credentials{}, invalidClient("The Basic credentials have no colon between client id and secret.")
	}
	decoded := strings.ContainsAny(string(raw), "+%")
	id, err = url.QueryUnescape(id)
	if err == nil {
		secret, err = url.QueryUnescape(secret)
	}
	if err != nil || !oauth.PlainText(id) || !oauth.PlainText(secret) {
		return credentials{},
			invalidClient("The Basic credentials are not form-encoded: percent-encode client id and secret before joining " +
				"them (RFC 6749, 2.3.1).")
	}
	return credentials{id: id, secret: secret, decoded: decoded}, nil
}
