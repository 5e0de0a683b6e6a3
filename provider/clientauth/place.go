package clientauth

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
)

// placesIn lists the places at which a request has an assertion.
func placesIn(header http.Header, form url.Values) (found []*place) {
	for _, p := range places {
		if p.has(header, form) {
			found = append(found, p)
		}
	}
	return found
}

// inForm is the place of RFC 7521 §4.2: parameters of the form.
var inForm = place{has: formHasAssertion, read: readAssertion, search: searchForm}

func formHasAssertion(_ http.Header, form url.Values) bool {
	return form.Has("client_assertion") || form.Has("client_assertion_type")
}

// inText is a client assertion in a query, or in content of any media type: a form, JSON, or parts.
var inText = regexp.MustCompile(`client_assertion["':=\s]{1,8}([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)`)

// searchForm searches the form, and the query and the content, if nobody has read the form.
func searchForm(r *http.Request) []string {
	found, text := slices.Clone(r.PostForm["client_assertion"]), r.URL.RawQuery
	if r.PostForm == nil && r.Body != nil {
		// What was read before an error counts: others may have seen it.
		content, _ := io.ReadAll(io.LimitReader(r.Body, maxUnreadContent))
		text += "\n" + string(content)
	}
	for _, match := range inText.FindAllStringSubmatch(text, maxUnread) {
		found = append(found, match[1])
	}
	return found
}
