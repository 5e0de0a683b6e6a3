package redirect

import (
	"net/url"
	"strings"
)

// Response is an authorization response or a logout redirect: the browser carries it to
// the client.
type Response struct {
	RedirectURI string
	Parameters  []Parameter
	FormPost    bool // OIDC Form Post §2: the parameters are in a form, not in the query
	// Failed says why the response could not be signed. It has no parameters then, and is not sent.
	Failed error
}

// Parameter is one parameter of a response.
type Parameter struct{ Name, Value string }

// Location returns the redirect URI with the parameters added to its query. It does not
// change the existing part of the URI.
func (r Response) Location() string {
	var b strings.Builder
	b.WriteString(r.RedirectURI)
	separator := byte('?')
	if strings.Contains(r.RedirectURI, "?") {
		separator = '&'
	}
	for _, parameter := range r.Parameters {
		b.WriteByte(separator)
		// Every program reads %20 as a space, and only some read a plus as one.
		b.WriteString(parameter.Name + "=" + strings.ReplaceAll(url.QueryEscape(parameter.Value), "+", "%20"))
		separator = '&'
	}
	return b.String()
}
