package resource

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule says what a request needs. Only the rules with the longest path that covers a
// request apply. If none of them has the request's method, the request is refused, even
// if a rule with a shorter path would allow it.
type Rule struct {
	// Path covers itself and all paths beneath it: "/users" covers /users, /users/ and
	// /users/7, but not /users2. "/" covers everything. Write the path in decoded form,
	// without patterns. Some servers serve /Users, /users.json and /users~ as /users: no
	// rule with a shorter path covers these either. The name of a rule ends at each
	// character that is no letter, digit, hyphen or underscore.
	//
	// A front controller serves /index.php/users as /users. Such a path is refused, unless the
	// path of the rule includes the name of the script.
	Path string

	// PathAsWritten forwards paths that servers read in different ways: with %2F, //, a
	// semicolon, %3F, %23 or %25, or with something after the name of a script. Set it if the
	// upstream splits a path only at the slashes as they are written, decodes each segment
	// once, and gives a semicolon no meaning. A path is refused nevertheless if it has dot
	// segments, or if another rule would apply for a server that reads it otherwise.
	PathAsWritten bool

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
	methods map[string]*allowed
}

// allowed is what a rule allows for a method.
type allowed struct {
	handler   http.Handler
	asWritten bool // Rule.PathAsWritten
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
		*t = append(*t, &route{path, fold(path), map[string]*allowed{}})
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
		known.methods[m] = &allowed{h, r.PathAsWritten}
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

const (
	noPermission  = "You do not have permission to perform this action"
	ambiguousPath = "Servers read this path in different ways: it has, for example, a dot segment, an empty segment, " +
		"a semicolon, an encoded slash, or something after the name of a script."
	longPath = "The path is longer than 8192 bytes."
)

// reflects reports whether the answer to a method contains the request as the upstream
// received it.
// RFC 9110 §9.3.8: TRACE; some old servers call it TRACK.
func reflects(method string) bool { return method == http.MethodTrace || method == "TRACK" }

// route returns what the rules allow for a request, or the status and the text of a refusal.
func (t routes) route(r *http.Request) (found *allowed, status int, problem string) {
	if len(written(r.URL)) > maxPath {
		// RFC 9110 §15.5.15: the target is longer than the server is willing to interpret.
		return nil, http.StatusRequestURITooLong, longPath
	}
	path, ok := readPath(r.URL)
	if !ok {
		return nil, http.StatusBadRequest, ambiguousPath
	}
	applies := t.longest(fold(path.exact))
	found = applies.allows(path.exact, r.Method)
	// The path of a rule that includes the name of a script says how the upstream reads it.
	named := found != nil && path.script <= strings.Count(applies.path, "/")
	switch {
	case !path.plain && !named && (found == nil || !found.asWritten):
		return nil, http.StatusBadRequest, ambiguousPath
	case found == nil && (applies == nil || within(path.exact, applies.path)):
		return nil, http.StatusForbidden, noPermission + ": no rule of this server covers it."
	case found == nil, !path.plain && !named &&
		slices.ContainsFunc(path.others, func(other string) bool { return t.longest(other) != applies }):
		return nil, http.StatusForbidden, noPermission + ": some servers read this path as one of another rule."
	case !t.allowDestination(r, found):
		return nil, http.StatusForbidden, noPermission + ": the rule of the path does not cover the header Destination and " +
			"all below it."
	case reachesBelow(r) && (t.below(fold(path.exact)) || !named && t.below(path.others...)):
		return nil, http.StatusForbidden, noPermission + ": " + r.Method +
			" is for all below the path too, and another rule is for a part of it." + flatter(r.Method)
	}
	if name := secondPath(r.Header); name != "" {
		return nil, http.StatusForbidden, noPermission + ": the header " + name + " names a second path, to which no rule " +
			"applies."
	}
	return found, 0, ""
}

// longest returns the rules with the longest path as which an upstream could read the folded
// path, or nil.
func (t routes) longest(folded string) *route {
	var r *route
	for _, candidate := range t {
		if covers(candidate.folded, folded) && (r == nil || len(candidate.folded) > len(r.folded)) {
			r = candidate
		}
	}
	return r
}

// allows returns what the rules of a path allow, or nil. r may be nil.
func (r *route) allows(path, method string) *allowed {
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

func either(a, b *allowed) *allowed {
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
// frameworks take the text after a dot for a format: /admin.json is /admin as JSON. A prefix
// location of nginx takes /admin~ and /admin(1).
func covers(base, path string) bool {
	rest, ok := strings.CutPrefix(path, base)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || next != '-' && next != '_' && !unicode.IsLetter(next) && !unicode.IsDigit(next))
}
