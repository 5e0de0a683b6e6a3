package tokens

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mandate/provider/claims"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Expected is a claim that an application, or an API that it calls, would read about a person.
type Expected struct {
	Place  string // one of claims.Places
	Name   string
	Value  any
	Reason string // what gives it this value
}

// Text returns the value as JSON.
func (e Expected) Text() string {
	raw, err := json.Marshal(e.Value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Expect returns the claims that an application would get about a person with these scopes, in each place where it
// reads some, for its default resource. They come from the same functions as those in the tokens. Claims that say
// nothing about the person, such as exp, are left out.
func (p *Tokens) Expect(ctx context.Context, a storage.Application, u storage.User, scopes []string) (
	[]Expected, error) {
	audience, err := p.apis.Requested(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	issued, err := audience.Issues(a)
	if err != nil {
		return nil, err
	}
	granted := slices.DeleteFunc(slices.Clone(scopes), func(name string) bool { return !audience.HasScope(name) })
	var all []Expected
	for _, place := range claims.Places() {
		found := jose.Claims{"sub": p.Subject(a.Sector, u.ID)}
		own, err := ownOf(a, place, granted)
		if err != nil {
			return nil, err
		}
		atServer := audience.AtServer(granted)
		switch place {
		case claims.IDToken, claims.UserInfo:
			if !p.config.OpenID || !slices.Contains(granted, "openid") ||
				place == claims.UserInfo && !audience.HasServer() {
				continue
			}
			if place == claims.IDToken && !p.rules.ClaimsInIDToken(a) {
				atServer = nil
			}
			err = p.addClaims(ctx, found, own, u.ID, atServer, nil)
		default:
			if place == claims.AccessToken && issued.AccessTokenFormat != policy.FormatJWT {
				continue // it is a random string
			}
			var more map[string]any
			more, err = p.ownClaims(ctx, a, place, strings.Join(granted, " "), u.ID, audience.URIs())
			maps.Copy(found, more)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			all = append(all, Expected{place, name, found[name], reason(own, a, name)})
		}
	}
	return all, nil
}

// reason says what gives a claim its value.
func reason(own ownFor, a storage.Application, name string) string {
	rule, ruled := own.here.Named(name)
	if name == "groups" && !ruled {
		rule, ruled = own.all.Named(name)
	}
	switch {
	case name == "sub" && a.Sector != "":
		return "the subject of the person for the sector " + a.Sector
	case name == "sub":
		return "the subject of the person"
	case ruled:
		return "the rule " + rule.String()
	}
	return "the scope " + cmp.Or(scopeOf(name), oauth.Clip(name, 40))
}
