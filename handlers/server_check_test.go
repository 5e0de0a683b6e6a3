package handlers

import (
	"context"
	"strings"
	"testing"

	"mandate/provider/checkup"
)

// A check that hangs keeps nobody longer than their own request lasts, and only a few requests wait for it (CWE-400).
func TestAttackServerCheckPilesUp(t *testing.T) {
	c := newLastCheck()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, _, err := c.findings(
			t.Context(),
			func(context.Context) []checkup.Finding { close(began); <-end; return nil },
		)
		ended <- err
	}()
	<-began
	gone, leave := context.WithCancel(t.Context())
	for range mostCheckWaits + 3 {
		go func() {
			_, _, err := c.findings(gone, nil)
			ended <- err
		}()
	}
	for range 3 { // there is no room for them
		if err := <-ended; err == nil {
			t.Error("a request has findings of no check")
		}
	}
	leave()
	for range mostCheckWaits {
		if err := <-ended; err == nil {
			t.Error("a request that has gone has findings")
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_, _, err := c.findings(t.Context(), nil)
	if err != nil {
		t.Error(err)
	}
}

// Administrators see what mandate doctor finds. Nobody else does, or lets this server send anything.
func TestServerCheckIsForAdministrators(t *testing.T) {
	s := newSite(t, "/auth", func(c *Config) {
		c.Known = []checkup.Finding{{Check: "proxy", Weight: checkup.Doubtful, About: "<b>", Text: "The proxy.", Remedy: "Set it."}}
	})
	asked := func() int {
		return strings.Count(s.log.String(), "route=/auth/o/.well-known/oauth-authorization-server/")
	}
	s.visitor(t).get(t, serverCheckPath).wants(t, 303)
	s.as(t, "alice").get(t, serverCheckPath).wants(t, 403)
	if n := asked(); n != 0 {
		t.Errorf("%d requests for others", n)
	}
	root := s.as(t, "root")
	root.get(t, serverCheckPath).wants(t, 200, "Nothing is wrong.", "warning: <code>proxy</code>", "&lt;b&gt;", "Set it.", "BASE_URL answers with the metadata.", "warning: <code>mail</code>")
	first := asked()
	if first == 0 {
		t.Fatal("the server did not ask itself")
	}
	// Whoever loads the page again and again makes no more requests.
	for range 3 {
		root.get(t, serverCheckPath+"?url=http://127.0.0.1:1/").wants(t, 200, "Nothing is wrong.")
	}
	if n := asked(); n != first {
		t.Errorf("%d requests, then %d", first, n)
	}
}
