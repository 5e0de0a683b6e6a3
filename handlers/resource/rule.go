package resource

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Rule says what a request needs. The rules with the longest path that covers
// a request decide alone: if none of them has its method, the request is
// refused, and shorter paths are not asked.
type Rule struct {
	// Path covers itself and all that lies beneath it: "/users" is for /users,
	// /users/ and /users/7, not for /users2. "/" covers everything. It is written
	// as it reads after decoding, without patterns.
	Path string

	// Methods the rule is for; all that no other rule of the same path names, if
	// empty. A rule for GET is for HEAD too, unless a rule names HEAD.
	Methods []string

	// Scopes the token must have, all of them. None: any live token will do.
	Scopes []string

	// Public lets requests through without a token.
	Public bool

	// WebSocket lets a GET request open a WebSocket (RFC 6455).
	WebSocket bool
}

// anyMethod stands for the methods that no rule of the path names.
const anyMethod = ""

// route is what the rules say of one path.
type route struct {
	path    string // without its last slash
	folded  string
	methods map[string]http.Handler
}

// routes are few and looked through in full: the cost does not grow with the
// number of segments a client puts in its path.
type routes []*route

// add registers what runs when the rule applies.
func (t *routes) add(r Rule, h http.Handler) error {
	err := r.validate()
	if err != nil {
		return err
	}
	path := strings.TrimSuffix(r.Path, "/")
	i := slices.IndexFunc(*t, func(known *route) bool { return known.folded == fold(path) })
	if i < 0 {
		i = len(*t)
		*t = append(*t, &route{path, fold(path), map[string]http.Handler{}})
	}
	known := (*t)[i]
	if known.path != path {
		return fmt.Errorf("%s and %s differ in case only", known.path, path)
	}
	methods := r.Methods
	if len(methods) == 0 {
		methods = []string{anyMethod}
	}
	for _, m := range methods {
		if known.methods[m] != nil {
			return fmt.Errorf("a second rule for the same path and method %s", m)
		}
		known.methods[m] = h
	}
	return nil
}

func (r *Rule) validate() error {
	if r.Public && len(r.Scopes) > 0 {
		return errors.New("public, so no scope can be asked for")
	}
	if !plainPath(r.Path) {
		return errors.New("write the path with one slash before each segment and without dot segments, %, \\ and ;")
	}
	// RFC 6455 §4.1: a WebSocket is opened with GET.
	if r.WebSocket && len(r.Methods) > 0 && !slices.Contains(r.Methods, http.MethodGet) {
		return errors.New("a WebSocket is opened with GET: add GET to the methods, or leave the WebSocket out")
	}
	for _, m := range r.Methods {
		if m == "" || strings.ContainsFunc(m, func(c rune) bool { return c < 'A' || c > 'Z' }) {
			return fmt.Errorf("method %q: use capital letters", m)
		}
		if reflects(m) {
			return fmt.Errorf("method %s: is never passed on, since it shows the client what the proxy adds", m)
		}
	}
	// RFC 6749 §3.3: a scope is printable ASCII without space, quote and backslash.
	if slices.ContainsFunc(r.Scopes, func(s string) bool {
		return s == "" || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
	}) {
		return fmt.Errorf("scopes %q: use one string for each, printable ASCII without space, quote and backslash", r.Scopes)
	}
	return nil
}

// find returns what runs for a plain path and a method, nil if no rule covers them.
func (t routes) find(path, method string) http.Handler {
	folded := fold(path)
	var r *route
	for _, candidate := range t {
		if within(folded, candidate.folded) && (r == nil || len(candidate.folded) > len(r.folded)) {
			r = candidate
		}
	}
	// An upstream that does not tell cases apart would serve /ADMIN as /admin, one
	// that does would not. Where that matters, neither reading is right to guess.
	if r == nil || !within(path, r.path) {
		return nil
	}
	// RFC 9110 §9.3.2: HEAD is GET without the content, so it needs the same.
	if h := r.methods[method]; h != nil || method != http.MethodHead {
		return either(h, r.methods[anyMethod])
	}
	return either(r.methods[http.MethodGet], r.methods[anyMethod])
}

func either(a, b http.Handler) http.Handler {
	if a != nil {
		return a
	}
	return b
}

// within reports whether path is base or lies beneath it.
func within(path, base string) bool {
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '/')
}

// fold maps all spellings of a path that differ in case only to one. Some
// characters meet others only as capitals, so both ways are gone.
func fold(path string) string {
	return strings.ToLower(strings.ToUpper(path))
}
