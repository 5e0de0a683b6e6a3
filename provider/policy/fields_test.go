package policy

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/storage"
)

// undecided returns the columns of a record about which the table does not say how they weaken an application.
func undecided(record any, table []Field) []string {
	var found []string
	for f := range reflect.TypeOf(record).Fields() {
		if f.Anonymous {
			found = append(found, undecided(reflect.New(f.Type).Elem().Interface(), table)...)
			continue
		}
		column := f.Tag.Get("db")
		i := slices.IndexFunc(table, func(row Field) bool { return row.Column == column })
		if i < 0 || table[i].Vouched == nil || table[i].GivesAway == nil ||
			table[i].Limit == nil || table[i].Exceeds == nil {
			found = append(found, column)
		}
	}
	return found
}

// A column without a row would be given away, or changed by an owner, without a question.
func TestEveryFieldOfAnApplicationSaysHowItWeakens(t *testing.T) {
	if missing := undecided(storage.Application{}, applicationFields); len(missing) > 0 {
		t.Errorf("applicationFields does not say how these weaken an application: %v", missing)
	}
	added := struct {
		storage.Application
		Added string `db:"added"`
	}{}
	if d := cmp.Diff([]string{"added"}, undecided(added, applicationFields)); d != "" {
		t.Errorf("a field that is added is not noticed: %s", d)
	}
	row := fixed("added")
	if missing := undecided(added, append(slices.Clone(applicationFields), row)); len(missing) > 0 {
		t.Errorf("a row does not suffice: %v", missing)
	}
	for _, forgotten := range []func(*Field){
		func(f *Field) { f.Vouched = nil },
		func(f *Field) { f.GivesAway = nil },
		func(f *Field) { f.Limit = nil },
		func(f *Field) { f.Exceeds = nil },
	} {
		row := fixed("added")
		forgotten(&row)
		if d := cmp.Diff([]string{"added"}, undecided(added, append(slices.Clone(applicationFields), row))); d != "" {
			t.Errorf("a row without a decision suffices: %s", d)
		}
	}
}

func TestTableOfFieldsHasEachColumnOnceInTheOrderOfTheRecord(t *testing.T) {
	var columns, rows []string
	for f := range reflect.TypeFor[storage.Application]().Fields() {
		columns = append(columns, f.Tag.Get("db"))
	}
	for _, f := range applicationFields {
		rows = append(rows, f.Column)
	}
	if d := cmp.Diff(columns, rows); d != "" {
		t.Error(d)
	}
}

// filledIn returns an application with a value in each field, and different ones for different n.
func filledIn(n int) storage.Application {
	var a storage.Application
	for i := range reflect.TypeOf(a).NumField() {
		switch field := reflect.ValueOf(&a).Elem().Field(i).Addr().Interface().(type) {
		case *string:
			*field = "value" + string(rune('a'+n))
		case *bool:
			*field = n%2 == 0
		case *int64:
			*field = int64(n + 1)
		}
	}
	a.Responsible, a.ClientType, a.GrantTypes = storage.ByOperator, Confidential, GrantClient
	return a
}

// The questions that a change of one field raises.
func TestChangeOfOneField(t *testing.T) {
	c := New(settings())
	of := func(change func(was, now *storage.Application)) ([]string, bool, []string) {
		was := filledIn(0)
		was.SkipConsent, was.GrantTypes = false, GrantCode
		now := was
		change(&was, &now)
		return c.Vouched(was, now), c.GivesAway(was, now), ChangedColumns(was, now)
	}
	for name, test := range map[string]struct {
		change  func(was, now *storage.Application)
		vouched string
		gives   bool
		columns []string
	}{
		"nothing": {func(_, _ *storage.Application) {}, "", false, nil},
		"name":    {func(_, now *storage.Application) { now.Name = "other" }, "", false, []string{"name"}},
		"version": {func(_, now *storage.Application) { now.Version++ }, "", false, nil},
		"one redirect URI more": {
			func(was, now *storage.Application) { now.RedirectURIs = was.RedirectURIs + "\nhttps://b.example/" },
			"redirect_uris", true, []string{"redirect_uris"},
		},
		"one redirect URI less": {
			func(was, _ *storage.Application) { was.RedirectURIs += "\nhttps://b.example/" },
			"redirect_uris", false, []string{"redirect_uris"},
		},
		"consent skipped": {
			func(_, now *storage.Application) { now.SkipConsent = true }, "skip_consent", true, []string{"skip_consent"},
		},
		"scopes": {func(_, now *storage.Application) { now.Scopes = "more" }, "scopes", false, []string{"scopes"}},
		"scopes without consent": {func(was, now *storage.Application) {
			was.SkipConsent, now.SkipConsent, now.Scopes = true, true, "more"
		}, "scopes", true, []string{"scopes"}},
		"resources of a service": {func(was, now *storage.Application) {
			was.GrantTypes, now.GrantTypes, now.Resources = GrantClient, GrantClient, "more"
		}, "resources", true, []string{"resources"}},
		"no required login": {
			func(_, now *storage.Application) { now.RequiredACR = "" }, "required_acr", true, []string{"required_acr"},
		},
		"another required login": {func(was, now *storage.Application) {
			was.RequiredACR, now.RequiredACR = "phr", "urn:mandate:acr:mfa"
		}, "required_acr", true, []string{"required_acr"}},
		"a required login": {func(was, now *storage.Application) {
			was.RequiredACR, now.RequiredACR = "", "phr"
		}, "", false, []string{"required_acr"}},
		"keys": {func(_, now *storage.Application) { now.JWKS = "{}" }, "jwks", true, []string{"jwks"}},
		"no PKCE": {func(was, now *storage.Application) {
			was.PKCE, now.PKCE = PKCERequired, ""
		}, "pkce", false, []string{"pkce"}},
		"rotation left to the server": {func(was, now *storage.Application) {
			was.RefreshRotation, now.RefreshRotation = RotationOn, ""
		}, "refresh_rotation", false, []string{"refresh_rotation"}},
		"longer": {func(was, now *storage.Application) {
			was.AccessTokenLifetime, now.AccessTokenLifetime = 0, 1<<30
		}, "access_token_lifetime", false, []string{"access_token_lifetime"}},
		"shorter": {func(was, now *storage.Application) {
			was.RefreshTokenLifetime, now.RefreshTokenLifetime = 0, 1
		}, "", false, []string{"refresh_token_lifetime"}},
		"another sector":  {func(_, now *storage.Application) { now.Sector = "b" }, "", false, []string{"sector"}},
		"public subjects": {func(_, now *storage.Application) { now.Sector = "" }, "sector", false, []string{"sector"}},
		"the usual algorithm by its name": {func(was, now *storage.Application) {
			was.Algorithm, now.Algorithm = "", DefaultAlgorithm
		}, "", false, []string{"algorithm"}},
		"every response mode": {
			func(_, now *storage.Application) { now.ResponseModes = "" }, "response_modes", false, []string{"response_modes"},
		},
		"signed requests no more": {
			func(_, now *storage.Application) { now.RequireSigned = false }, "require_signed", false, []string{"require_signed"},
		},
	} {
		vouched, gives, columns := of(test.change)
		var want []string
		if test.vouched != "" {
			want = []string{test.vouched}
		}
		if d := cmp.Diff(want, vouched); d != "" || gives != test.gives {
			t.Errorf("%s: gives away: %t; only an administrator: %s", name, gives, d)
		}
		if d := cmp.Diff(test.columns, columns); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestRightsBeyondTheStandingAreNoticed(t *testing.T) {
	c := settings()
	restricted(&c)
	for name, test := range map[string]struct {
		set  func(*storage.Application)
		more bool
	}{
		"nothing":                    {func(*storage.Application) {}, false},
		"a short lifetime":           {func(a *storage.Application) { a.AccessTokenLifetime = 1 }, false},
		"a long lifetime":            {func(a *storage.Application) { a.AccessTokenLifetime = 1 << 40 }, true},
		"a long lifetime of refresh": {func(a *storage.Application) { a.RefreshTokenLifetime = 1 << 40 }, true},
		"a scope":                    {func(a *storage.Application) { a.Scopes = "read" }, false},
		"another scope":              {func(a *storage.Application) { a.Scopes = "read write" }, true},
		"another grant":              {func(a *storage.Application) { a.GrantTypes += " " + GrantClient }, true},
		"introspection":              {func(a *storage.Application) { a.MayIntrospect = true }, true},
		"rotation":                   {func(a *storage.Application) { a.RefreshRotation = RotationOn }, false},
		"no rotation":                {func(a *storage.Application) { a.RefreshRotation = RotationOff }, true},
		"http":                       {func(a *storage.Application) { a.RedirectURIs = "http://app.example.org/" }, true},
	} {
		a := storage.Application{Responsible: storage.ByNobody, ClientType: Public, GrantTypes: GrantCode}
		test.set(&a)
		if _, more := New(c).EffectiveRights(a); more != test.more {
			t.Errorf("%s: more than it can use: %t", name, more)
		}
	}
}
