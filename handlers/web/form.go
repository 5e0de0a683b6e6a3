package web

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"mandate/provider/oauth"
	"mandate/templates"
)

// ParseForm reads a form into r.PostForm. The arguments name the fields that may
// appear more than once.
func (s *Site) ParseForm(r *http.Request, lists ...string) error {
	err := s.ReadForm(r)
	if err != nil {
		return err
	}
	return CheckValues(r.PostForm, lists)
}

// ReadForm reads a form like ParseForm, but leaves the check of the fields to the
// caller.
func (s *Site) ReadForm(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return &oauth.Error{Status: http.StatusUnsupportedMediaType, Code: "invalid_request",
			Description: "Send the form with Content-Type: application/x-www-form-urlencoded."}
	}
	err = r.ParseForm()
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge(big)
	}
	if err != nil {
		return BadRequest("The form is not form-encoded: check its percent-encoding.")
	}
	return nil
}

// Query reads the query parameters of a page.
func Query(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, BadRequest("The query of this address is not form-encoded: check its percent-encoding.")
	}
	return values, CheckValues(values, nil)
}

func CheckValues(values url.Values, lists []string) error {
	for name, list := range values {
		if !oauth.PlainText(name) {
			return BadRequest("The name of a field is not UTF-8 text.")
		}
		if len(list) > 1 && !slices.Contains(lists, name) {
			return badField("The field %s is sent more than once. Send it once.", name)
		}
		if slices.ContainsFunc(list, func(v string) bool { return !oauth.PlainText(v) }) {
			return badField("The field %s is not UTF-8 text.", name)
		}
	}
	return nil
}

// badField returns an error about a field. The client chose the name, so the log has an
// ellipsis in its place.
func badField(format, name string) error {
	return &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request",
		Description: fmt.Sprintf(format, oauth.Clip(name, 40)), LogText: fmt.Sprintf(format, "…")}
}

// Variable returns a variable of the path. A value that is not valid text is not
// found.
func Variable(r *http.Request, name string) (string, error) {
	value, err := url.PathUnescape(mux.Vars(r)[name])
	if err != nil || !oauth.PlainText(value) {
		return "", oauth.ErrNotFound
	}
	return value, nil
}

// PageSize is the number of rows on one page of a list.
const PageSize = 25

// Listing is one page of a list, and the search that selects its rows.
type Listing struct {
	Search  string
	page    int        // the first page is 1
	Filters url.Values // the other parameters that select rows
}

func ReadListing(r *http.Request) (Listing, error) {
	values, err := Query(r)
	if err != nil {
		return Listing{}, err
	}
	l := Listing{strings.TrimSpace(values.Get("q")), 1, url.Values{}}
	if utf8.RuneCountInString(l.Search) > 200 {
		return l, BadRequest("Search for at most 200 characters.")
	}
	if text := values.Get("page"); text != "" {
		l.page, err = strconv.Atoi(text)
		if err != nil || l.page < 1 || l.page > 1e6 {
			return l, BadRequest("page must be a number from 1.")
		}
	}
	return l, nil
}

func (l Listing) Offset() int { return (l.page - 1) * PageSize }

// Pager returns ErrNotFound for a page after the last one.
func (l Listing) Pager(total int) (templates.Pager, error) {
	pages := max(1, (total+PageSize-1)/PageSize)
	if l.page > pages {
		return templates.Pager{}, oauth.ErrNotFound
	}
	p := templates.Pager{Page: l.page, Pages: pages, Total: total}
	if l.page > 1 {
		p.PrevURL = l.url(l.page - 1)
	}
	if l.page < pages {
		p.NextURL = l.url(l.page + 1)
	}
	return p, nil
}

func (l Listing) url(page int) string {
	values := maps.Clone(l.Filters)
	values.Set("page", strconv.Itoa(page))
	if l.Search != "" {
		values.Set("q", l.Search)
	}
	return "?" + values.Encode()
}
