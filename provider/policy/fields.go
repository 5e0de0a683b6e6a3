package policy

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/storage"
)

// Field is a column of an application, and how it can weaken the application. Each row of the table has all its
// functions, so a new column makes somebody decide; never and unlimited are answers too.
type Field struct {
	Column string

	// Vouched reports whether a change takes away what an administrator answers for. An owner without administrator
	// rights may not make it.
	Vouched func(Change) bool
	// GivesAway reports whether a change decides who receives what people have allowed the application, how strong
	// their login must be for that, or what it gets without asking them. Whoever makes it signs in again.
	GivesAway func(Change) bool
	// Limit takes from an application what its standing does not allow.
	Limit func(*Rules, Allowance, *storage.Application)
	// Exceeds reports whether an application has more than it can use now. Usually Limit has changed it.
	Exceeds func(Change) bool

	Unreported bool // no event names it: a change does not write it, or always writes it
}

// Change is one application at two times.
type Change struct {
	rules    *Rules
	was, now *storage.Application
	at       int // the index of the field in the struct
}

func (c Change) values() (any, any) {
	value := func(a *storage.Application) any { return reflect.ValueOf(a).Elem().Field(c.at).Interface() }
	return value(c.was), value(c.now)
}

func (c Change) texts() (was, now string) {
	before, after := c.values()
	return before.(string), after.(string)
}

// The answers of most fields.

func never(Change) bool { return false }

func unlimited(*Rules, Allowance, *storage.Application) {}

func changed(c Change) bool {
	was, now := c.values()
	return !reflect.DeepEqual(was, now)
}

// taken reports whether a change removes a requirement, or replaces it by another one.
func taken(c Change) bool {
	was, _ := c.values()
	return !reflect.ValueOf(was).IsZero() && changed(c)
}

// replacedBy reports whether a change brings another value.
func replacedBy(c Change) bool {
	_, now := c.values()
	return !reflect.ValueOf(now).IsZero() && changed(c)
}

// emptied returns a function that reports whether a change replaces this value by none. The setting of the server then
// applies, which may be weaker.
func emptied(value string) func(Change) bool {
	return func(c Change) bool {
		was, now := c.texts()
		return was == value && now == ""
	}
}

func otherWords(c Change) bool {
	was, now := c.texts()
	return !oauth.SameSet(strings.Fields(was), strings.Fields(now))
}

func otherLines(c Change) bool {
	was, now := c.texts()
	return !oauth.SameSet(oauth.Lines(was), oauth.Lines(now))
}

func moreLines(c Change) bool {
	was, now := c.texts()
	return !oauth.Covers(oauth.Lines(was), oauth.Lines(now))
}

func fewerLines(c Change) bool {
	was, now := c.texts()
	return !oauth.Covers(oauth.Lines(now), oauth.Lines(was))
}

// morePeople: an empty list of groups allows everybody.
func morePeople(c Change) bool {
	was, now := c.texts()
	return was != "" && (now == "" || moreLines(c))
}

// unasked reports whether a change gives other values to an application that gets tokens without asking people.
func unasked(c Change) bool {
	return (c.now.SkipConsent || ActsAlone(*c.now, GrantTypes(*c.now))) && otherWords(c)
}

// ActsAlone reports whether an application with these grants gets tokens without any person, and with the rights that
// an administrator gives.
func ActsAlone(a storage.Application, grants []string) bool {
	return StandingOf(a) == StandingAdministrator && WithoutPerson(grants)
}

// applicationFields is the table of the columns of an application, in the order of its struct.
var applicationFields = []Field{
	fixed("id"),
	fixed("client_id"),
	row("name", never, never, unlimited), // an owner may rename it
	fixed("owner_id"),
	silent("owner"),
	silent("owner_is_admin"),
	silent("owner_is_active"),
	fixed("responsible"),
	row("client_type", changed, changed, unlimited),
	row("grant_types", otherWords, unasked, limitGrants),
	row("redirect_uris", otherLines, moreLines, limitRedirects),
	row("scopes", otherWords, unasked, unlimited).beyond(moreScopes),
	row("hash_client_secret", taken, never, unlimited),
	fixed("secret"),
	fixed("old_secret"),
	fixed("old_secret_expires_at"),
	row("may_introspect", switchedOn, never, limitIntrospection),
	row("skip_consent", switchedOn, switchedOn, limitConsent),
	row("pkce", emptied(PKCERequired), never, limitPKCE),
	row("require_pushed", taken, never, unlimited),
	row("sender_constraint", taken, never, unlimited),
	row("profile", taken, never, unlimited),
	row("access_token_lifetime", longerAccess, never, limitAccess).beyond(accessBeyond),
	row("refresh_token_lifetime", longerRefresh, never, limitRefresh).beyond(refreshBeyond),
	row("algorithm", otherAlgorithm, never, unlimited),
	row("userinfo_algorithm", changed, never, unlimited),
	row("introspection_algorithm", changed, never, unlimited),
	row("sector", otherSubjects, never, unlimited),
	row("post_logout_redirect_uris", otherLines, never, limitPostLogout),
	row("backchannel_logout_uri", changed, never, unlimited),
	row("access_token_format", changed, never, unlimited),
	// The order counts: the first is the default.
	row("resources", changed, unasked, unlimited),
	fixed("origin"),
	fixed("metadata"), // what the application says about itself; people see it
	row("auth_method", changed, changed, unlimited),
	row("auth_algorithm", changed, never, unlimited),
	row("jwks", changed, changed, unlimited),
	row("jwks_uri", changed, changed, unlimited),
	row("endpoint_audience", switchedOn, never, limitAudience),
	row("certificate_subject", changed, changed, unlimited),
	row("object_algorithm", taken, never, unlimited),
	row("require_signed", taken, never, unlimited),
	row("request_uris", moreLines, never, unlimited),
	row("response_algorithm", changed, never, unlimited),
	row("response_modes", moreModes, never, unlimited),
	silent("management"),
	silent("registration_digest"),
	fixed("registration_limits"),
	row("required_acr", weakerLogin, taken, unlimited),
	row("default_acr", taken, never, unlimited),
	row("refresh_rotation", emptied(RotationOn), never, limitRotation),
	row("claims_in_id_token", emptied(ClaimsOff), never, limitClaims),
	row("launch_url", changed, never, unlimited),
	row("allowed_groups", otherLines, morePeople, unlimited),
	row("denied_groups", otherLines, fewerLines, unlimited),
	row("nobody_new", taken, taken, unlimited),
	row("claims", changed, replacedBy, limitRules),
	fixed("program"),
	silent("last_used_at"),
	silent("last_without_pkce_at"),
	silent("created_at"),
	silent("renewed_at"),
	silent("updated_at"),
	silent("generation"),
	silent("version"),
}

// row is a field that a registration changes.
func row(column string, vouched, givesAway func(Change) bool,
	limit func(*Rules, Allowance, *storage.Application)) Field {
	return Field{Column: column, Vouched: vouched, GivesAway: givesAway, Limit: limit, Exceeds: changed}
}

// beyond replaces the question whether an application has more than it can use now.
func (f Field) beyond(exceeds func(Change) bool) Field {
	f.Exceeds = exceeds
	return f
}

// fixed is a column whose change weakens nothing: no form has it, and whoever changes it by a request of RFC 7592 gives
// away nothing by it.
func fixed(column string) Field { return row(column, never, never, unlimited) }

func silent(column string) Field {
	f := fixed(column)
	f.Unreported = true
	return f
}

func switchedOn(c Change) bool {
	was, now := c.values()
	return now.(bool) && !was.(bool)
}

func otherSubjects(c Change) bool { return (c.was.Sector != "") != (c.now.Sector != "") }

func weakerLogin(c Change) bool {
	return acr.Stronger(c.was.RequiredACR, c.now.RequiredACR) != c.now.RequiredACR
}

func otherAlgorithm(c Change) bool {
	return cmp.Or(c.was.Algorithm, DefaultAlgorithm) != cmp.Or(c.now.Algorithm, DefaultAlgorithm)
}

// moreModes: an empty list allows everything.
func moreModes(c Change) bool {
	was, now := strings.Fields(c.was.ResponseModes), strings.Fields(c.now.ResponseModes)
	return len(was) > 0 && (len(now) == 0 || !oauth.Covers(was, now))
}

// longer reports whether a lifetime is longer than it was. 0 means the server's own lifetime.
func longer(was, now int64, own time.Duration) bool {
	return cmp.Or(now, oauth.Seconds(own)) > cmp.Or(was, oauth.Seconds(own))
}

func longerAccess(c Change) bool {
	return longer(c.was.AccessTokenLifetime, c.now.AccessTokenLifetime, c.rules.OwnLifetime(*c.was))
}

func longerRefresh(c Change) bool {
	return longer(c.was.RefreshTokenLifetime, c.now.RefreshTokenLifetime, c.rules.RefreshTokenLifetime)
}

func accessBeyond(c Change) bool { return c.was.AccessTokenLifetime > c.rules.AccessLifetime(*c.was) }

func refreshBeyond(c Change) bool {
	return c.was.RefreshTokenLifetime > c.rules.RefreshLifetime(*c.was)
}

func moreScopes(c Change) bool {
	return !oauth.Covers(c.rules.AllowanceOf(*c.was).Scopes, strings.Fields(c.was.Scopes))
}

func limitGrants(_ *Rules, may Allowance, a *storage.Application) {
	a.GrantTypes = strings.Join(oauth.Narrow(strings.Fields(a.GrantTypes), may.Grants), " ")
	if !may.Authenticates(a.ClientType, a.AuthMethod) {
		a.GrantTypes = ""
	}
}

func limitRedirects(c *Rules, may Allowance, a *storage.Application) {
	if !may.AdministratorRights {
		a.RedirectURIs = c.strong(*a, a.RedirectURIs)
	}
}

func limitPostLogout(c *Rules, may Allowance, a *storage.Application) {
	if !may.AdministratorRights {
		a.PostLogoutURIs = c.strong(*a, a.PostLogoutURIs)
	}
}

func limitIntrospection(_ *Rules, may Allowance, a *storage.Application) {
	a.MayIntrospect = a.MayIntrospect && may.AdministratorRights
}

func limitConsent(_ *Rules, may Allowance, a *storage.Application) {
	a.SkipConsent = a.SkipConsent && may.AdministratorRights && NeverSkipsConsent(*a) == ""
}

func limitAudience(_ *Rules, may Allowance, a *storage.Application) {
	a.EndpointAudience = a.EndpointAudience && may.AdministratorRights
}

func limitPKCE(_ *Rules, may Allowance, a *storage.Application) { may.withRights(&a.PKCE, PKCEIfSent) }

func limitRotation(_ *Rules, may Allowance, a *storage.Application) {
	may.withRights(&a.RefreshRotation, RotationOff)
}

func limitClaims(_ *Rules, may Allowance, a *storage.Application) {
	may.withRights(&a.ClaimsInIDToken, ClaimsOn)
}

// limitRules: nobody but an administrator decides that an application learns more about people than its scopes say.
func limitRules(_ *Rules, may Allowance, a *storage.Application) {
	if !may.AdministratorRights {
		a.Claims = ""
	}
}

// withRights empties a field with a value that needs the rights of an administrator.
func (a Allowance) withRights(field *string, value string) {
	if *field == value && !a.AdministratorRights {
		*field = ""
	}
}

func limitAccess(_ *Rules, may Allowance, a *storage.Application) {
	if !may.OwnLifetime {
		a.AccessTokenLifetime = 0
	}
}

func limitRefresh(_ *Rules, may Allowance, a *storage.Application) {
	if !may.OwnLifetime {
		a.RefreshTokenLifetime = 0
	}
}
