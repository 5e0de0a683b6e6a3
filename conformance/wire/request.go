package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Auth adds the sender's authentication to a request, in the header or in the form.
type Auth func(header http.Header, form url.Values)

// Basic is client authentication by HTTP Basic (RFC 6749 §2.3.1).
func Basic(id, secret string) Auth {
	return func(header http.Header, _ url.Values) {
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
}

// InBody is client authentication in the form.
func InBody(id, secret string) Auth {
	return func(_ http.Header, form url.Values) {
		form.Set("client_id", id)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
}

// AssertionType is the client_assertion_type of a JWT (RFC 7523 §2.2).
const AssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// Assertion is client authentication by a JWT, which sign makes for each request.
func Assertion(sign func() string) Auth {
	return func(_ http.Header, form url.Values) {
		form.Set("client_assertion_type", AssertionType)
		form.Set("client_assertion", sign())
	}
}

// CertificateOf is a field of a request that names the certificate of its sender. It is not sent: the network uses the
// certificate for the connection.
const CertificateOf = "Conformance-Certificate"

// Certificate is client authentication by a certificate of the network (RFC 8705 §2).
func Certificate(id, name string) Auth {
	return func(header http.Header, form url.Values) {
		form.Set("client_id", id)
		header.Set(CertificateOf, name)
	}
}

// WithCertificate sends a request over a connection with a certificate of the network.
func WithCertificate(name string) Auth {
	return func(header http.Header, _ url.Values) { header.Set(CertificateOf, name) }
}

// Bearer adds an access token to the header (RFC 6750 §2.1).
func Bearer(token string) Auth {
	return func(header http.Header, _ url.Values) { header.Set("Authorization", "Bearer "+token) }
}

// Header adds a header field.
func Header(name, value string) Auth {
	return func(header http.Header, _ url.Values) { header.Add(name, value) }
}

// Params returns parameters from names that alternate with their values.
func Params(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// Headers sets all fields of a header.
func Headers(from http.Header) Auth {
	return func(header http.Header, _ url.Values) {
		for name, values := range from {
			header[name] = values
		}
	}
}

// WithQuery adds parameters to the address of an endpoint.
func WithQuery(endpoint string, parameters url.Values) string {
	endpoint, _, _ = strings.Cut(endpoint, "#") // a browser does not send the fragment
	separator := "?"
	if strings.Contains(endpoint, "?") {
		separator = "&" // RFC 6749 §3.1: the query of the endpoint's own address is kept
	}
	return endpoint + separator + parameters.Encode()
}

// Origin returns scheme and host of an address, in the form in which origins are compared (RFC 6454 §4): in lower case,
// and without the default port of the scheme.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme { // url.Parse has put it in lower case
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// Place describes where a browser was sent: the address, and the names of its parameters. Their values are new in each
// run, and may be secrets. The address is clipped when it has been masked: half a secret would not be recognized.
func Place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	values, _ := url.ParseQuery(u.RawQuery) // what cannot be read has no name
	fragment, _ := url.ParseQuery(u.EscapedFragment())
	names := slices.Sorted(maps.Keys(values))
	for _, name := range slices.Sorted(maps.Keys(fragment)) {
		names = append(names, "#"+name)
	}
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	place := u.String()
	if len(names) == 0 {
		return place
	}
	return place + " with " + Clip(strings.Join(names, ", "), shownAddress)
}

// SamePlace reports whether two addresses are equal without their queries and fragments.
func SamePlace(a, b string) bool {
	cut := func(s string) string {
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			return s[:i]
		}
		return s
	}
	return cut(a) == cut(b)
}

// ParseURL parses an address from a page. A text that is no address gives an empty URL.
func ParseURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}
