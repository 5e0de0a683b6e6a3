package handlers

import (
	"strings"
	"testing"

	"mandate/provider/checkup"
)

// Administrators see what mandate doctor finds. Nobody else does, or lets this server send anything.
func TestServerCheckIsForAdministrators(t *testing.T) {
	s := newSite(t, "/auth", func(c *Config) {
		c.Known = []checkup.Finding{{Check: "proxy", Weight: checkup.Doubtful, About: "<b>", Text: "The proxy.",
			Remedy: "Set it."}}
	})
	asked := func() int {
		return strings.Count(s.log.String(), "route=/auth/o/.well-known/oauth-authorization-server/")
	}
	s.visitor(t).get(t, "/admin/server-check/").wants(t, 303)
	s.as(t, "alice").get(t, "/admin/server-check/").wants(t, 403)
	if n := asked(); n != 0 {
		t.Errorf("%d requests for others", n)
	}
	root := s.as(t, "root")
	root.get(t, "/admin/server-check/").wants(t, 200, "Nothing is wrong.", "warning: <code>proxy</code>", "&lt;b&gt;",
		"Set it.", "BASE_URL answers with the metadata.", "warning: <code>mail</code>")
	first := asked()
	if first == 0 {
		t.Fatal("the server did not ask itself")
	}
	// Whoever loads the page again and again makes no more requests.
	for range 3 {
		root.get(t, "/admin/server-check/?url=http://127.0.0.1:1/").wants(t, 200, "Nothing is wrong.")
	}
	if n := asked(); n != first {
		t.Errorf("%d requests, then %d", first, n)
	}
}
