package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Answer is the answer to one request, together with the request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	// Of the request:
	Method      string
	URL         *url.URL
	SentHeader  http.Header
	SentForm    string // the body, form-encoded
	contentType string
}

// JSON returns the object in the body, or nil if the body is no JSON object.
func (a *Answer) JSON() map[string]any {
	var object map[string]any
	err := json.Unmarshal(a.Body, &object)
	if err != nil {
		return nil
	}
	return object
}

// Text returns a member of the object in the body that is a string, or "".
func (a *Answer) Text(name string) string {
	text, _ := a.JSON()[name].(string)
	return text
}

// Granted reports whether this is an answer of the token endpoint with an access token.
func (a *Answer) Granted() bool {
	return a.Status/100 == 2 && a.Text("access_token") != ""
}

// MediaType returns the Content-Type without its parameters.
func (a *Answer) MediaType() string {
	mediaType, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// String returns the status code and its text.
func (a *Answer) String() string {
	return fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))
}

// Failure describes an error response.
func (a *Answer) Failure() string {
	code, description := a.Text("error"), a.Text("error_description")
	switch {
	case code == "" && a.Status/100 == http.StatusFound/100 && a.Header.Get("Location") != "":
		return a.redirect()
	case code == "":
		return a.String()
	case description == "":
		return fmt.Sprintf("%s, %s without an error_description", a, code)
	}
	return fmt.Sprintf("%s, %s (%s)", a, code, description)
}

var loginPath = regexp.MustCompile(`(?i)(log|sign)[-_]?(in|on)`)

// redirect describes a redirect of an endpoint that programs call.
func (a *Answer) redirect() string {
	place := a.Header.Get("Location")
	if to, err := a.URL.Parse(place); err == nil {
		place = Bare(to)
	}
	if loginPath.MatchString(place) {
		return fmt.Sprintf("%s, a redirect to the login page %s, as if the request came from a person and not from a client",
			a, place)
	}
	return fmt.Sprintf("%s, a redirect to %s", a, place)
}

// Bare returns an address without its query, which may hold secrets.
func Bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
