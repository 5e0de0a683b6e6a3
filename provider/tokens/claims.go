package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mandate/provider/jose"
	"mandate/provider/oauth"
)

// ClaimsRequest is the claims parameter (OIDC Core §5.5).
type ClaimsRequest struct {
	UserInfo map[string]*ClaimRequest `json:"userinfo,omitempty"`
	IDToken  map[string]*ClaimRequest `json:"id_token,omitempty"`
}

// ClaimRequest is the request for one claim (OIDC Core §5.5.1). A nil ClaimRequest
// requests the claim with any value.
type ClaimRequest struct {
	Essential bool              `json:"essential,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"`
	Values    []json.RawMessage `json:"values,omitempty"`
}

// scopeClaims lists the claims that each scope requests (OIDC Core §5.4). The scope
// groups is our own.
var scopeClaims = map[string][]string{
	"profile": {"name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
		"website", "gender", "birthdate", "zoneinfo", "locale", "updated_at"},
	"email":   {"email", "email_verified"},
	"address": {"address"},
	"phone":   {"phone_number", "phone_number_verified"},
	"groups":  {"groups"},
}

// scopeOf returns the scope that represents a claim on the consent page, or "" for a
// claim that belongs to no scope.
func scopeOf(claim string) string {
	for scope, claims := range scopeClaims {
		if slices.Contains(claims, claim) {
			return scope
		}
	}
	return ""
}

// Limit keeps the claims whose scope the application may request, so that the claims
// parameter cannot bypass that limit. It removes claims that belong to no scope: the
// consent page does not show them, and a later release may give them a meaning to which
// nobody has consented.
func (r ClaimsRequest) Limit(allowed []string) ClaimsRequest {
	for _, asked := range []map[string]*ClaimRequest{r.UserInfo, r.IDToken} {
		maps.DeleteFunc(asked, func(claim string, _ *ClaimRequest) bool { return !slices.Contains(allowed, scopeOf(claim)) })
	}
	return r
}

// Scopes returns the scopes that represent the requested claims on the consent page,
// sorted.
func (r ClaimsRequest) Scopes() []string {
	var names []string
	for _, asked := range []map[string]*ClaimRequest{r.UserInfo, r.IDToken} {
		for claim := range asked {
			names = oauth.Union(names, []string{scopeOf(claim)})
		}
	}
	slices.Sort(names)
	return names
}

// readStoredClaims returns the claims parameter that is stored with an authorization
// grant, limited to what the application may still request.
func readStoredClaims(allowed []string, text string) (ClaimsRequest, error) {
	var asked ClaimsRequest
	if text == "" {
		return asked, nil
	}
	err := json.Unmarshal([]byte(text), &asked)
	if err != nil {
		return asked, fmt.Errorf("read the stored claims parameter: %w", err)
	}
	return asked.Limit(allowed), nil
}

// ClaimsSupported returns every claim that this server can give for the scopes.
func ClaimsSupported(scopes []string) []string {
	names := []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid"}
	for _, scope := range slices.Sorted(maps.Keys(scopeClaims)) {
		if slices.Contains(scopes, scope) {
			names = append(names, scopeClaims[scope]...)
		}
	}
	return names
}

// addClaims adds the claims that the scopes and the claims parameter request, if they
// are known, and the claims of the application's own.
func (p *Tokens) addClaims(ctx context.Context, to jose.Claims, own ownFor, userID string, scopes []string,
	asked map[string]*ClaimRequest) error {
	var names []string
	for _, scope := range scopes {
		names = append(names, scopeClaims[scope]...)
	}
	for name := range asked {
		names = append(names, name)
	}
	if !slices.Contains(p.rules.ScopeNames(), "groups") {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "groups" })
	}
	if len(names) == 0 && len(own.here) == 0 {
		return nil
	}
	person, err := p.describe(ctx, userID, own.needGroups(names))
	if err != nil {
		return err
	}
	all := maps.Clone(person.Profile)
	all["groups"] = append([]string{}, person.Groups...)
	own.addOwn(to, all, person)
	for _, name := range names {
		value, known := all[name]
		if _, taken := to[name]; known && !taken && (wantedByScope(scopes, name) || asked[name].Accepts(value)) {
			to[name] = value
		}
	}
	return nil
}

func wantedByScope(scopes []string, claim string) bool {
	return slices.ContainsFunc(scopes, func(scope string) bool { return slices.Contains(scopeClaims[scope], claim) })
}

// Accepts reports whether a value is one of those requested (OIDC Core §5.5.1). If the
// request has no value, every value is.
func (c *ClaimRequest) Accepts(value any) bool {
	wanted := c.Requested()
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(raw json.RawMessage) bool {
		var one any
		return json.Unmarshal(raw, &one) == nil && same(one, value)
	})
}

// Requested returns the values of the request. It returns none for nil.
func (c *ClaimRequest) Requested() []json.RawMessage {
	switch {
	case c == nil:
		return nil
	case len(c.Value) == 0:
		return c.Values
	}
	return append(slices.Clone(c.Values), c.Value)
}

// same compares two values as JSON, in which all numbers have one type.
func same(a, b any) bool {
	left, err := json.Marshal(a)
	right, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(left) == string(right)
}
