package resources

import (
	"context"
	"slices"
	"strings"

	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Audience is what a token, or an authorization grant, is for: the server itself, or one or
// more resources. The zero value is for nothing.
type Audience struct {
	rules *policy.Rules
	self  *storage.Resource   // the server as a resource
	of    []*storage.Resource // at least one
}

// maxRequested limits how many resources one request may name.
const maxRequested = 10

// Requested returns the audience that a request names with the parameter resource. Without
// the parameter it is the default resource of the application, or else the server itself.
//
// RFC 8707 §2: the error is invalid_target for a value that is malformed, unknown, or not
// for this application.
func (p *Resources) Requested(ctx context.Context, a storage.Application, values []string) (Audience, error) {
	own := oauth.Lines(a.Resources)
	find, defaulted := (*set).requested, len(values) == 0
	if defaulted {
		find, values = (*set).resource, own[:min(1, len(own))]
	}
	if len(values) > maxRequested {
		return Audience{}, invalidTarget("The request has more than %d parameters resource.", maxRequested)
	}
	audience := p.audience()
	if len(values) == 0 {
		return audience.orServer(), nil
	}
	known, err := p.all(ctx)
	if err != nil {
		return Audience{}, err
	}
	for _, value := range values {
		r, wrong := find(known, value), ""
		if r == nil || r.URI != value { // a registered URI was checked before
			wrong = indicator.Check(value)
		}
		switch {
		case wrong != "":
			return Audience{}, invalidTarget("The value of resource %s.", wrong)
		case r == nil && defaulted:
			return Audience{}, invalidTarget("The default resource of this application, %s, does not exist any more: change "+
				"it on the page of the application.", value)
		case r == nil:
			return Audience{}, invalidTarget("There is no resource %s on this server: an administrator can add it.",
				oauth.Clip(value, 200))
		case len(own) > 0 && !slices.ContainsFunc(own, func(uri string) bool { return indicator.Same(uri, r.URI) }):
			return Audience{}, invalidTarget("This application may not request the resource %s: its registration lists its "+
				"resources.", r.URI)
		}
		audience.add(r)
	}
	return audience.orServer(), nil
}

// Granted returns the audience of a stored grant or token. Resources that do not exist any
// more are left out, also if another one has their URI now. If none is left, the audience is
// empty.
func (p *Resources) Granted(ctx context.Context, stored string) (Audience, error) {
	return p.existing(ctx, stored, func(r *storage.Resource, generation string) bool { return r.Generation == generation })
}

// Signed returns the audience of a signed token, as Granted does. uris are those of its aud, by
// line.
func (p *Resources) Signed(ctx context.Context, uris string, issued int64) (Audience, error) {
	return p.existing(ctx, uris,
		func(r *storage.Resource, _ string) bool { return r.Generation == "" || r.CreatedAt <= issued })
}

// existing returns those resources of a stored text that exist, and are still the same.
func (p *Resources) existing(ctx context.Context, stored string,
	same func(r *storage.Resource, generation string) bool) (Audience, error) {
	audience := p.audience()
	if stored == "" {
		return audience.orServer(), nil
	}
	known, err := p.all(ctx)
	if err != nil {
		return Audience{}, err
	}
	for _, name := range oauth.Lines(stored) {
		uri, generation := indicator.Split(name)
		if r := known.resource(uri); r != nil && same(r, generation) {
			audience.add(r)
		}
	}
	return audience, nil
}

func (p *Resources) audience() Audience {
	return Audience{rules: p.rules, self: p.self}
}

func (t *Audience) add(r *storage.Resource) {
	if t.find(r.Key) == nil {
		t.of = append(t.of, r)
	}
}

// find returns the resource of the audience with this key, or nil.
func (t Audience) find(key string) *storage.Resource {
	for _, r := range t.of {
		if r.Key == key {
			return r
		}
	}
	return nil
}

func (t Audience) orServer() Audience {
	if len(t.of) == 0 {
		t.of = []*storage.Resource{t.self}
	}
	return t
}

// Empty reports whether the audience has no resource.
func (t Audience) Empty() bool { return len(t.of) == 0 }

// HasServer reports whether the server itself is in the audience.
func (t Audience) HasServer() bool {
	return t.find(t.self.Key) != nil
}

// Stored returns the text that the database stores for the audience.
func (t Audience) Stored() string {
	if len(t.of) == 1 && t.HasServer() {
		return ""
	}
	names := make([]string, len(t.of))
	for i, r := range t.of {
		names[i] = indicator.Stored(r.URI, r.Generation)
	}
	return strings.Join(names, "\n")
}

// URIs returns the URIs of the audience as they were registered: the values of aud.
func (t Audience) URIs() []string {
	var uris []string
	for _, r := range t.of {
		uris = append(uris, r.URI)
	}
	return uris
}

// Named returns the resources of the audience for people, without the server itself.
func (t Audience) Named() []storage.Resource {
	var named []storage.Resource
	for _, r := range t.of {
		if r.Key != t.self.Key {
			named = append(named, *r)
		}
	}
	return named
}

// ToApprove returns what a person approves with these scopes for this audience: at each resource the
// scopes that it has. The scopes about the person belong to the server, and so do those of claims that
// the request asks for, because UserInfo and ID tokens have them. So does what no resource has.
//
// Whether the access ends with the session is a part of each approval: leaving openid out, or adding
// offline_access, is more and not less.
func (t Audience) ToApprove(scopes, claims []string) indicator.Approved {
	lasting := t.rules.OutlivesSession(scopes)
	var server []string
	var named indicator.Approved
	for _, name := range scopes {
		if t.HasServer() || t.rules.IsIdentityScope(name) || !t.HasScope(name) {
			server = append(server, name)
		}
	}
	for _, r := range t.Named() {
		var at []string
		for _, name := range scopes {
			if !t.rules.IsIdentityScope(name) && t.has(&r, name) {
				at = append(at, name)
			}
		}
		named = append(named, indicator.NewApproval(indicator.Stored(r.URI, r.Generation), at, lasting))
	}
	server = oauth.Union(server, claims)
	if len(server) == 0 {
		return named
	}
	return append(indicator.Approved{indicator.NewApproval("", server, lasting)}, named...)
}

// AtServer returns those of the scopes of a token that the person approved at this server: all if the token is for it,
// and otherwise those about the person (see ToApprove).
func (t Audience) AtServer(scopes []string) []string {
	if t.HasServer() {
		return scopes
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(name string) bool { return !t.rules.IsIdentityScope(name) })
}

// Narrow returns the part of the audience that a token request names, or all of it.
//
// RFC 8707 §2.2: a request can name a subset of the resources that were granted. The error
// for any other is invalid_target.
func (t Audience) Narrow(values []string) (Audience, error) {
	if t.Empty() {
		return t, invalidTarget("The resource of this grant does not exist any more: begin with a new authorization request.")
	}
	if len(values) == 0 {
		return t, nil
	}
	narrowed := Audience{rules: t.rules, self: t.self}
	for _, value := range values {
		if wrong := indicator.Check(value); wrong != "" {
			return Audience{}, invalidTarget("The value of resource %s.", wrong)
		}
		key := indicator.Normal(value)
		r := t.find(key)
		if r == nil {
			r = t.find(indicator.Sibling(key)) // as for Requested
		}
		if r == nil {
			return Audience{}, invalidTarget("The resource %s was not granted: the authorization request must name it with "+
				"the parameter resource.", oauth.Clip(value, 200))
		}
		narrowed.add(r)
	}
	return narrowed, nil
}

// HasScope reports whether a grant for this audience may have a scope: at least one resource has
// it. The scopes of OpenID Connect are about the person and the grant, and not about a resource.
func (t Audience) HasScope(name string) bool {
	return t.rules.IsIdentityScope(name) ||
		slices.ContainsFunc(t.of, func(r *storage.Resource) bool { return t.has(r, name) })
}

// SharesScope reports whether a token for this audience may have a scope: every resource has it.
func (t Audience) SharesScope(name string) bool {
	return t.rules.IsIdentityScope(name) ||
		!slices.ContainsFunc(t.of, func(r *storage.Resource) bool { return !t.has(r, name) })
}

// has reports whether a resource has a scope that is no identity scope.
func (t Audience) has(r *storage.Resource, name string) bool {
	switch {
	case r.Key == t.self.Key:
		return true
	case name == policy.Introspection:
		return false // only this server reads it
	}
	return r.Scopes == "" || hasWord(r.Scopes, name)
}

// Scopes returns the names that a grant for this audience may have.
func (t Audience) Scopes(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !t.HasScope(name) })
}

// Scope returns the part of a scope value that a grant for this audience may have.
func (t Audience) Scope(value string) string {
	for name := range strings.FieldsSeq(value) {
		if !t.HasScope(name) {
			return strings.Join(t.Scopes(strings.Fields(value)), " ")
		}
	}
	return value
}

// Constrained reports whether tokens for this audience must be sender-constrained.
func (t Audience) Constrained() bool {
	return slices.ContainsFunc(t.of, func(r *storage.Resource) bool { return r.Constrained })
}

// Typ returns the typ of a signed access token for this audience: JWT if each of its APIs wants it.
//
// RFC 9068 §2.1: an API may accept at+jwt alone, so it decides for all.
func (t Audience) Typ() string {
	if slices.ContainsFunc(t.of, func(r *storage.Resource) bool { return r.JWTTyp != TypJWT }) {
		return TypAccessToken
	}
	return TypJWT
}

// KnownTo returns the part of the audience for which an application may introspect tokens: the
// resources that name it, and the server itself if server is true.
func (t Audience) KnownTo(clientID string, server bool) Audience {
	part := Audience{rules: t.rules, self: t.self}
	for _, r := range t.of {
		if r.Key == t.self.Key && server || clientID != "" && introspects(r, clientID) {
			part.of = append(part.of, r)
		}
	}
	return part
}

func introspects(r *storage.Resource, clientID string) bool {
	for id := range r.IntrospectorIDs() {
		if id == clientID {
			return true
		}
	}
	return false
}

// hasWord reports whether a list of words with spaces between them has a word.
func hasWord(list, word string) bool {
	for one := range strings.FieldsSeq(list) {
		if one == word {
			return true
		}
	}
	return false
}

// Issues returns the application with the token format, the algorithm and the lifetime that
// its access tokens for this audience have. A resource that leaves them open takes those of
// the application. The shortest lifetime counts.
//
// RFC 9068 §3: the error is invalid_target if one token cannot suit all resources, or if the
// application's profile forbids it.
func (t Audience) Issues(a storage.Application) (storage.Application, error) {
	var format, algorithm string
	for i, r := range t.of {
		if r.Lifetime > 0 && (a.AccessTokenLifetime == 0 || r.Lifetime < a.AccessTokenLifetime) {
			a.AccessTokenLifetime = r.Lifetime
		}
		wanted, by := r.TokenFormat, r.Algorithm
		if wanted == "" {
			wanted = a.AccessTokenFormat
		}
		if by == "" {
			by = a.Algorithm
		}
		// FAPI 2.0 Security Profile §5.4.1: the algorithm is one of the profile. The resource may
		// verify no other one than its own, so the token is not signed by another one instead.
		if wanted == policy.FormatJWT && r.Algorithm != "" && len(policy.Algorithms(a, []string{r.Algorithm})) == 0 {
			return a, invalidTarget("The access tokens for the resource %s are signed by %s, which the profile of this "+
				"application does not allow: an administrator can change the algorithm of the resource.", r.URI, r.Algorithm)
		}
		if i > 0 && (wanted != format || wanted == policy.FormatJWT && by != algorithm) {
			return a, invalidTarget("One token cannot be for all these resources, because their tokens have different " +
				"formats: request a token for each, with one parameter resource.")
		}
		format, algorithm = wanted, by
	}
	a.AccessTokenFormat, a.Algorithm = format, algorithm
	return a, nil
}

// Introspects reports whether an application may introspect the tokens for a resource: the
// resource names it, and an administrator is responsible for it.
func (p *Resources) Introspects(ctx context.Context, a storage.Application) (bool, error) {
	if a.ClientType == policy.Public || !p.rules.AllowanceOf(a).AdministratorRights {
		return false, nil
	}
	known, err := p.all(ctx)
	return err == nil && known.introspectors[a.ClientID], err
}

func invalidTarget(format string, args ...any) *oauth.Error {
	return oauth.Refuse("invalid_target", format, args...)
}
