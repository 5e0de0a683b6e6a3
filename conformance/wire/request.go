package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// Auth adds to a request how its sender says who it is: to the header or to the form.
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

// Bearer sends an access token in the header (RFC 6750 §2.1).
func Bearer(token string) Auth {
	return func(header http.Header, _ url.Values) { header.Set("Authorization", "Bearer "+token) }
}

// Header adds any header.
func Header(name, value string) Auth {
	return func(header http.Header, _ url.Values) { header.Add(name, value) }
}

// Params are parameters in turn with their values.
func Params(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

func Headers(from http.Header) Auth {
	return func(header http.Header, _ url.Values) {
		for name, values := range from {
			header[name] = values
		}
	}
}

// WithQuery is an endpoint with parameters.
func WithQuery(endpoint string, parameters url.Values) string {
	endpoint, _, _ = strings.Cut(endpoint, "#") // which no browser would send
	separator := "?"
	if strings.Contains(endpoint, "?") {
		separator = "&" // RFC 6749 §3.1: the endpoint's own query is kept
	}
	return endpoint + separator + parameters.Encode()
}

func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// SamePlace compares two addresses up to their query.
func SamePlace(a, b string) bool {
	cut := func(s string) string {
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			return s[:i]
		}
		return s
	}
	return cut(a) == cut(b)
}

// ParseURL parses what a page holds; what is no address leads nowhere.
func ParseURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}
