package rules

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// afterSecond is how long a check waits so that the next use of a refresh token is in a later second than the issue of
// the first one. A server that compares whole seconds, as those of iat and exp, notices a reuse only then.
const afterSecond = 1100 * time.Millisecond

// rfc6749Refresh has the checks of the rules about refreshing (RFC 6749 §6).
var rfc6749Refresh = checks{
	"RFC6749/6/granted": func(t *T) {
		c := t.Client(need.Code)
		t.WantGranted(t.Refresh(c, t.GrantRefresh(c).Refresh))
	},
	"RFC6749/6/client-authenticated": func(t *T) {
		c := t.Client(need.Code)
		wantAuthenticated(t, c, func() url.Values {
			return wire.Params("grant_type", "refresh_token", "refresh_token", t.GrantRefresh(c).Refresh)
		})
	},
	"RFC6749/6/bound-to-client": func(t *T) {
		c := t.Client(need.Code)
		for _, thief := range []Need{need.Second, need.Public} {
			t.Grant(t.Client(thief))
			t.WantRefused(t.Refresh(t.Client(thief), liveRefreshToken(t, c)), "the refresh token was issued to another client")
		}
	},
	"RFC6749/6/validated": func(t *T) {
		c := t.Client(need.Code)
		t.Granted(t.Refresh(c, t.GrantRefresh(c).Refresh))
		tokens := t.GrantRefresh(c)
		for _, value := range append(Spoilt(tokens.Refresh), tokens.Access) {
			t.WantRefused(t.Refresh(c, value), "the server did not issue the refresh token")
		}
	},
	"RFC6749/6/scope-not-widened": rfc6749ScopeNotWidened,
	"RFC6749/6/scope-omitted": func(t *T) {
		c := t.Client(need.Code)
		first := t.GrantRefresh(c)
		again := t.Granted(t.Refresh(c, first.Refresh))
		if first.Scope != "" && again.Scope != "" && !sameWords(again.Scope, first.Scope) {
			t.Failf("%q was granted, but a refresh returned %q", first.Scope, again.Scope)
		}
	},
	"RFC6749/6/new-token-same-scope": rfc6749NewTokenSameScope,
	"RFC6749/6/rotated": func(t *T) {
		c := t.Client(need.Code)
		first := t.GrantRefresh(c)
		second := t.Granted(t.Refresh(c, first.Refresh))
		if second.Refresh == "" || second.Refresh == first.Refresh {
			t.Failf("the refresh returned no new refresh token")
		}
		t.Pause(afterSecond)
		t.Granted(t.Refresh(c, second.Refresh)) // a server may return the same successor until it is used
		t.WantRefused(t.Refresh(c, first.Refresh), "the refresh token was used before, and so was its successor")
	},
	"RFC6749/6/old-access-token-lives": func(t *T) {
		c := t.Client(need.Code)
		first := workingTokens(t, t.GrantRefresh(c))
		t.Granted(t.Refresh(c, first.Refresh))
		if !t.Works(first.Access) {
			t.Failf("the first access token is no longer valid")
		}
	},
}

func rfc6749ScopeNotWidened(t *T) {
	c := t.Client(need.Code)
	all := t.Scopes(t.Grant(c), t.Request(c).Params.Get("scope"))
	// The server decides on which scope a refresh token depends, so each scope is left out in turn.
	for i, missing := range all {
		asked := strings.Join(slices.Delete(slices.Clone(all), i, i+1), " ")
		r := settled(t, t.Authorize(t.Request(c).Set("scope", asked)))
		if r.ErrorCode() != "" {
			continue // the server requires the missing scope
		}
		narrow := t.Granted(t.Redeem(t.CodeOf(r)))
		if narrow.Refresh == "" || slices.Contains(strings.Fields(narrow.Scope), missing) {
			continue
		}
		a := t.Refresh(c, narrow.Refresh, "scope", strings.Join(all, " "))
		// RFC 6749 §5.1: a response without scope grants the requested scope.
		if got := a.Text("scope"); a.Granted() && (got == "" || slices.Contains(strings.Fields(got), missing)) {
			t.Failf("%s was granted, but a refresh returned %s too", asked, missing)
		}
		return
	}
	t.Skipf("the rule needs a server that issues a refresh token for less than the scope %q: it issues none, or one for "+
		"the whole scope", strings.Join(all, " "))
}

func rfc6749NewTokenSameScope(t *T) {
	c := t.Client(need.Code)
	first := t.GrantRefresh(c)
	less := lessScope(t, t.Scopes(first, t.Request(c).Params.Get("scope")))
	narrow := t.Granted(t.Refresh(c, first.Refresh, "scope", less))
	switch {
	case narrow.Refresh == "" || narrow.Refresh == first.Refresh:
		t.Skipf("the server returns no new refresh token: the rule needs a server that replaces it")
	case narrow.Scope != "" && !sameWords(narrow.Scope, less):
		t.Skipf("the server returns the scope %q for a refresh with the scope %q: the rule needs a server that grants less "+
			"if it is asked for less", narrow.Scope, less)
	}
	whole := t.WantGranted(t.Refresh(c, narrow.Refresh))
	if whole.Scope != "" && !sameWords(whole.Scope, first.Scope) {
		t.Failf("%q was granted; after a refresh with %q the next refresh returned %q", first.Scope, less, whole.Scope)
	}
}

// lessScope returns scopes without one of them. openid and offline_access stay, because a refresh can need them. If
// nothing else could be left out, the check is skipped.
func lessScope(t *T, scopes []string) string {
	i := slices.IndexFunc(scopes, func(name string) bool { return name != "openid" && name != "offline_access" })
	if i < 0 {
		t.Skipf("the client code has no scope that a refresh can leave out: name two in the target, other than openid and " +
			"offline_access")
	}
	return strings.Join(slices.Delete(slices.Clone(scopes), i, i+1), " ")
}
