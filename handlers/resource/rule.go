package resource

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Rule says what a request needs. Only the rules with the longest path that covers a
// request apply. If none of them has the request's method, the request is refused, even
// if a rule with a shorter path would allow it.
type Rule struct {
	// Path covers itself and all paths beneath it: "/users" covers /users, /users/ and
	// /users/7, but not /users2. "/" covers everything. Write the path in decoded form,
	// without patterns. Some servers serve /Users and /users.json as /users: no rule
	// with a shorter path covers these either.
	Path string

	// Methods lists the methods of the rule. If it is empty, the rule covers all methods
	// that no other rule of the same path names. GET includes HEAD, unless a rule names
	// HEAD.
	Methods []string

	// Scopes lists the scopes that the token must have; all are required. If it is
	// empty, any active token is sufficient.
	Scopes []string

	// Login is what the rule requires of the login behind the token.
	Login Login

	// Public allows requests without a token.
	Public bool

	// WebSocket allows a GET request to open a WebSocket (RFC 6455).
	WebSocket bool
}

func (r *Rule) requirement() requirement { return requirement{scopes: r.Scopes, login: r.Login} }

// anyMethod represents the methods that no rule of the path names.
const anyMethod = ""

// route holds the rules of one path.
type route struct {
	path    string // without the trailing slash
	folded  string
	methods map[string]http.Handler
}

// routes holds all routes. Each search examines all of them, because they are few. So
// its cost does not depend on the number of segments in a client's path.
type routes []*route

// add registers the handler of a rule.
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
		return fmt.Errorf("%s and %s differ only in upper and lower case or in invisible characters", known.path, path)
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
		return errors.New("a public rule cannot require scopes: remove them")
	}
	if r.Public && (r.Login.MaxAge != 0 || len(r.Login.ACRValues) > 0) {
		return errors.New("a public rule cannot require a login: remove max_age and acr_values")
	}
	if err := r.Login.validate(); err != nil {
		return err
	}
	if !plainPath(r.Path) {
		return errors.New("write the path with one slash before each segment and without dot segments, %, \\ and ;")
	}
	// RFC 6455 §4.1: a WebSocket is opened with GET.
	if r.WebSocket && len(r.Methods) > 0 && !slices.Contains(r.Methods, http.MethodGet) {
		return errors.New("a WebSocket is opened with GET: add GET to the methods, or remove the WebSocket")
	}
	for _, m := range r.Methods {
		if m == "" || strings.ContainsFunc(m, func(c rune) bool { return c < 'A' || c > 'Z' }) {
			return fmt.Errorf("method %q: use capital letters", m)
		}
		if reflects(m) {
			return fmt.Errorf("method %s: is never forwarded, since its response shows the client what the proxy adds", m)
		}
	}
	// RFC 6749 §3.3: a scope is printable ASCII without space, quote and backslash.
	if slices.ContainsFunc(r.Scopes, func(s string) bool { return !isWord(s) }) {
		return fmt.Errorf("scopes %q: use one string for each, printable ASCII without space, quote and backslash", r.Scopes)
	}
	return nil
}

// find returns the handler for a plain path and a method, or nil if no rule covers
// them.
func (t routes) find(path, method string) http.Handler {
	folded := fold(path)
	var r *route
	for _, candidate := range t {
		if covers(candidate.folded, folded) && (r == nil || len(candidate.folded) > len(r.folded)) {
			r = candidate
		}
	}
	// Some upstreams serve /ADMIN or /admin.json as /admin, others do not. If the rules
	// would differ, the request is refused, because the proxy cannot know how the upstream
	// reads the path.
	if r == nil || !within(path, r.path) {
		return nil
	}
	// RFC 9110 §9.3.2: HEAD is GET without the content, so it needs the same scopes.
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

// covers reports whether an upstream could read path as base or as a path beneath it. Some
// frameworks take the text after a dot for a format: /admin.json is /admin as JSON.
func covers(base, path string) bool {
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '.')
}

// fold returns the same text for all spellings of a path that differ only in case or in
// characters without a glyph. It converts to capitals first, because some characters are
// equal only as capitals.
func fold(path string) string {
	return strings.ToLower(strings.ToUpper(withoutIgnorable(path)))
}
