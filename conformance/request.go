package conformance

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

// params are parameters in turn with their values.
func params(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

func headers(from http.Header) Auth {
	return func(header http.Header, _ url.Values) {
		for name, values := range from {
			header[name] = values
		}
	}
}

// withQuery is an endpoint with parameters.
func withQuery(endpoint string, parameters url.Values) string {
	endpoint, _, _ = strings.Cut(endpoint, "#") // which no browser would send
	separator := "?"
	if strings.Contains(endpoint, "?") {
		separator = "&" // RFC 6749 §3.1: the endpoint's own query is kept
	}
	return endpoint + separator + parameters.Encode()
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// samePlace compares two addresses up to their query.
func samePlace(a, b string) bool {
	cut := func(s string) string {
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			return s[:i]
		}
		return s
	}
	return cut(a) == cut(b)
}

// mustURL parses what a page holds; what is no address leads nowhere.
func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}
