package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
)

// ClaimsRequest is the claims parameter (OIDC Core §5.5).
type ClaimsRequest struct {
	UserInfo map[string]*ClaimRequest `json:"userinfo,omitempty"`
	IDToken  map[string]*ClaimRequest `json:"id_token,omitempty"`
}

type ClaimRequest struct {
	Essential bool              `json:"essential,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"`
	Values    []json.RawMessage `json:"values,omitempty"`
}

// scopeClaims is which claims a scope asks for (OIDC Core §5.4). groups is
// ours.
var scopeClaims = map[string][]string{
	"profile": {"name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile", "picture", "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at"},
	"email":   {"email", "email_verified"},
	"address": {"address"},
	"phone":   {"phone_number", "phone_number_verified"},
	"groups":  {"groups"},
}

// scopeOf is the scope that stands for a claim on the consent page, or "" for
// one that is not about a person.
func scopeOf(claim string) string {
	for scope, claims := range scopeClaims {
		if slices.Contains(claims, claim) {
			return scope
		}
	}
	return ""
}

// within keeps the claims whose scope the application may ask for: the claims
// parameter is no way around that. One of no scope is on no page either, and a
// later release may know it: nobody was asked about it.
func (r ClaimsRequest) Within(allowed []string) ClaimsRequest {
	for _, asked := range []map[string]*ClaimRequest{r.UserInfo, r.IDToken} {
		maps.DeleteFunc(asked, func(claim string, _ *ClaimRequest) bool { return !slices.Contains(allowed, scopeOf(claim)) })
	}
	return r
}

// scopes are those that stand for the claims: what the person is asked about.
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

// readStoredClaims reads the claims parameter of a grant, as far as the
// application may still ask for it.
func readStoredClaims(allowed []string, text string) (ClaimsRequest, error) {
	var asked ClaimsRequest
	if text == "" {
		return asked, nil
	}
	err := json.Unmarshal([]byte(text), &asked)
	if err != nil {
		return asked, fmt.Errorf("read the stored claims parameter: %w", err)
	}
	return asked.Within(allowed), nil
}

// claimsSupported lists every claim that this server can give.
func ClaimsSupported(scopes []string) []string {
	names := []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid"}
	for _, scope := range slices.Sorted(maps.Keys(scopeClaims)) {
		if slices.Contains(scopes, scope) {
			names = append(names, scopeClaims[scope]...)
		}
	}
	return names
}

// allClaims is everything that is known of a person. What is not known is not
// there: an empty claim would say that it is known to be empty (OIDC Core
// §5.3.2).
func allClaims(u storage.User) (map[string]any, error) {
	profile, err := people.ProfileOf(u)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(profile)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	err = json.Unmarshal(raw, &all)
	if err != nil {
		return nil, err
	}
	all["preferred_username"] = u.Username
	all["updated_at"] = max(u.UpdatedAt, u.CreatedAt)
	for name, value := range map[string]string{"name": strings.Join(strings.Fields(u.FirstName+" "+profile.MiddleName+" "+u.LastName), " "), "given_name": u.FirstName, "family_name": u.LastName, "email": u.Email} {
		if value != "" {
			all[name] = value
		}
	}
	if u.Email != "" {
		all["email_verified"] = profile.EmailVerified
	}
	if profile.PhoneNumber != "" {
		all["phone_number_verified"] = profile.PhoneNumberVerified
	}
	return all, nil
}

// addClaims adds what the scopes and the claims parameter ask for, as far as it
// is known.
func (p *Tokens) addClaims(ctx context.Context, claims jose.Claims, userID string, scopes []string, asked map[string]*ClaimRequest) error {
	var names []string
	for _, scope := range scopes {
		names = append(names, scopeClaims[scope]...)
	}
	for name := range asked {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	u, err := p.people.User(ctx, userID)
	if err != nil {
		return err
	}
	all, err := allClaims(u)
	if err != nil {
		return err
	}
	if slices.Contains(names, "groups") && slices.Contains(p.rules.ScopeNames(), "groups") {
		groups, err := p.people.GroupsOf(ctx, u.ID)
		if err != nil {
			return err
		}
		all["groups"] = append([]string{}, groups...)
	}
	for _, name := range names {
		value, known := all[name]
		if _, taken := claims[name]; known && !taken && (wantedByScope(scopes, name) || asked[name].Takes(value)) {
			claims[name] = value
		}
	}
	return nil
}

func wantedByScope(scopes []string, claim string) bool {
	return slices.ContainsFunc(scopes, func(scope string) bool { return slices.Contains(scopeClaims[scope], claim) })
}

// takes says whether a value is one that was asked for (OIDC Core §5.5.1): any
// is, where none was named.
func (c *ClaimRequest) Takes(value any) bool {
	wanted := c.Wanted()
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(raw json.RawMessage) bool {
		var one any
		return json.Unmarshal(raw, &one) == nil && same(one, value)
	})
}

// wanted are the values that were named.
func (c *ClaimRequest) Wanted() []json.RawMessage {
	switch {
	case c == nil:
		return nil
	case len(c.Value) == 0:
		return c.Values
	}
	return append(slices.Clone(c.Values), c.Value)
}

// same compares as JSON does: a number is a number.
func same(a, b any) bool {
	left, err := json.Marshal(a)
	right, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(left) == string(right)
}
