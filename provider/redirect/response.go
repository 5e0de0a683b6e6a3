package redirect

import (
	"net/url"
	"strings"
)

// Response is what goes to the client by way of the browser.
type Response struct {
	RedirectURI string
	Parameters  []Parameter
	FormPost    bool // OIDC Form Post §2: in a form, not in the query
}

// Parameter is one of a response.
type Parameter struct{ Name, Value string }

// Location adds the parameters to the redirect URI, and leaves what it has as
// it stands.
func (r Response) Location() string {
	var b strings.Builder
	b.WriteString(r.RedirectURI)
	separator := byte('?')
	if strings.Contains(r.RedirectURI, "?") {
		separator = '&'
	}
	for _, parameter := range r.Parameters {
		b.WriteByte(separator)
		// A space as %20 is one to every reader, a plus only to some.
		b.WriteString(parameter.Name + "=" + strings.ReplaceAll(url.QueryEscape(parameter.Value), "+", "%20"))
		separator = '&'
	}
	return b.String()
}
