package resource

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// reachesBelow reports whether a request with the method and the Depth of WebDAV is also for
// everything below its path. A DELETE is too, but only where paths are collections of WebDAV: on
// other servers it is for one resource, so it is not counted.
func reachesBelow(r *http.Request) bool {
	depth := r.Header["Depth"]
	flat := len(depth) == 1 && depth[0] == "0"
	switch r.Method {
	// RFC 4918 §9.9.2: the depth of MOVE is always infinity.
	case "MOVE":
		return true
	// RFC 4918 §9.1, §9.8.3, §9.10.3: without Depth, it is infinity.
	case "COPY", "PROPFIND", "LOCK":
		return !flat
	// RFC 3253 §3.6, §7.1, §8.2: without Depth, it is 0.
	case "REPORT", "UPDATE", "LABEL":
		return len(depth) > 0 && !flat
	}
	return false
}

// flatter says how a request can be for less than the whole tree.
func flatter(method string) string {
	if method == "MOVE" {
		return " Name a path with one rule."
	}
	return " Send Depth: 0, or name a path with one rule."
}

// below reports whether one of the rules is for a path below one of these folded ones, so that a request
// for the whole tree needs more than the rule of the path.
func (t routes) below(folded ...string) bool {
	return slices.ContainsFunc(folded, func(path string) bool {
		tree := strings.TrimRight(path, "/")
		return slices.ContainsFunc(t, func(r *route) bool {
			return len(tree) < len(r.folded) && r.folded[len(tree)] == '/' && strings.HasPrefix(r.folded, tree)
		})
	})
}

// allowDestination reports whether what the rules allow for a request is also what they allow for
// its second path.
//
// RFC 4918 §10.3: COPY and MOVE write to the path in the header Destination. §9.8.4, §9.9.3: what is at
// this path and below it is deleted before.
func (t routes) allowDestination(r *http.Request, found *allowed) bool {
	given := r.Header["Destination"]
	if len(given) != 1 {
		return len(given) == 0
	}
	u, err := url.Parse(given[0])
	// RFC 4918 §10.3 allows a query. Some servers take it for a part of the path, and then resolve /../ in it.
	if err != nil || strings.HasPrefix(given[0], "//") || strings.ContainsAny(given[0], "?#") || u.User != nil {
		return false
	}
	path, ok := readPath(u)
	folded := fold(path.exact)
	return ok && path.plain && t.longest(folded).allows(path.exact, r.Method) == found && !t.below(folded)
}

// secondPath returns the header of a request that names another path, from which or as which the
// upstream serves this one: the headers of S3 and stores like it, of Azure and of OpenStack Swift. The
// rules cannot read such a path, because it begins elsewhere. "" means that there is none.
func secondPath(h http.Header) string {
	for name := range h {
		ends := func(end string) bool { return strings.HasSuffix(name, end) }
		if slices.ContainsFunc(endsOfSecondPaths, ends) || slices.Contains(secondPaths, name) {
			return name
		}
	}
	return ""
}

// endsOfSecondPaths are what the names of such headers end with, after that of the store.
var endsOfSecondPaths = []string{"-Copy-Source", "-Rename-Source", "-Move-Source", "-Symlink-Target"}

// secondPaths are the other headers of OpenStack Swift that name an object.
var secondPaths = []string{
	"X-Copy-From", "X-Copy-From-Account", "Destination-Account",
	"X-Symlink-Target-Account", "X-Object-Manifest",
}
