package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/claims"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
)

// maxOwn limits the claims of an application's own in a signed access token. The token is sent in a header, and many
// servers accept 8 KB of headers.
const maxOwn = 4096

// describe returns what the rules for claims know of a person. Groups are read only if somebody needs them.
func (p *Tokens) describe(ctx context.Context, userID string, groups bool) (claims.Person, error) {
	u, err := p.people.User(ctx, userID)
	if err != nil {
		return claims.Person{}, err
	}
	known, err := allClaims(u)
	if err != nil {
		return claims.Person{}, err
	}
	person := claims.Person{Profile: known}
	person.Attributes, err = p.people.AttributesOf(u)
	if err == nil && groups {
		person.Groups, err = p.people.GroupsOf(ctx, u.ID)
	}
	return person, err
}

// allClaims returns all claims that are known about a person. An unknown claim is
// omitted: an empty value would say that the claim is known to be empty (OIDC Core
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
	for name, value := range map[string]string{
		"name":       strings.Join(strings.Fields(u.FirstName+" "+profile.MiddleName+" "+u.LastName), " "),
		"given_name": u.FirstName, "family_name": u.LastName, "email": u.Email} {
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

// ownClaims returns the claims of an application's own in access tokens or in introspection responses, for a token with
// this scope, and for those who learn them.
func (p *Tokens) ownClaims(ctx context.Context, a storage.Application, place, scope, userID string,
	resources []string) (map[string]any, error) {
	rules, err := claims.Read(a.Claims)
	if err != nil {
		return nil, err
	}
	rules = rules.At(place, strings.Fields(scope)).For(resources)
	if len(rules) == 0 {
		return nil, nil
	}
	person, err := p.describe(ctx, userID, rules.Needs(claims.Groups))
	return rules.Claims(person), err
}

// ownInAccessToken returns the claims of an application's own in a signed access token.
func (p *Tokens) ownInAccessToken(ctx context.Context, a storage.Application, f Family, scope string,
	resources []string) (map[string]any, error) {
	if a.Claims == "" || f.UserID == "" {
		return nil, nil
	}
	own, err := p.ownClaims(ctx, a, claims.AccessToken, scope, f.UserID, resources)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(own)
	if err == nil && len(raw) > maxOwn {
		// A list without some of its groups could let somebody in, so none is cut.
		err = &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request", Description: fmt.Sprintf(
			"The claims of the application's own make its access token too long for a header: they have %d bytes, and at "+
				"most %d are possible. An administrator can shorten them with filter or map.", len(raw), maxOwn)}
	}
	return own, err
}

// addOwn adds the claims of an application's own to those of the scopes. A rule for groups decides about that claim
// everywhere, so that it has one value.
func (own ownFor) addOwn(to map[string]any, known map[string]any, person claims.Person) {
	for name, value := range own.here.Claims(person) {
		to[name] = value
	}
	rule, decides := own.all.Named("groups")
	if !decides {
		return
	}
	delete(known, "groups")
	if value := rule.Of(person); value != nil {
		known["groups"] = value
	}
}

// ownFor is the rules of an application, and those that concern one place.
type ownFor struct{ all, here claims.Set }

// ownOf reads the rules of an application for a place.
func ownOf(a storage.Application, place string, granted []string) (ownFor, error) {
	all, err := claims.Read(a.Claims)
	return ownFor{all, all.At(place, granted)}, err
}

func (own ownFor) needGroups(names []string) bool {
	rule, decides := own.all.Named("groups")
	return own.here.Needs(claims.Groups) || slices.Contains(names, "groups") && (!decides || rule.From == claims.Groups)
}
