package clients

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// filled returns a registration with a value in each field.
func filled() Registration {
	var r Registration
	for _, part := range []any{&r, &r.Authentication, &r.Messages} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			switch field := v.Field(i).Addr().Interface().(type) {
			case *string:
				*field = v.Type().Field(i).Name
			case *bool:
				*field = true
			case *int64:
				*field = int64(i + 1)
			case *[]string:
				*field = []string{v.Type().Field(i).Name, "and-another"}
			}
		}
	}
	r.SectorURI = "https://sector.example/"
	return r
}

// A field that is not stored would be lost without a word, and one that is not read would be lost at the next change.
func TestEveryFieldOfARegistrationIsStoredAndRead(t *testing.T) {
	p := &Clients{rules: policy.New(policy.Settings{})}
	a := storage.Application{Responsible: storage.ByOperator, ClientID: "id"}
	p.describe(&a, filled())
	want := filled()
	want.Authentication.CertificateSubject = clientauth.StoredSubject(want.Authentication.CertificateSubject)
	// These are no columns, or of another time.
	want.Said, want.Program, want.SectorURI, want.ClientID, want.ClientSecret, want.Owner = nil, "", "", "", "", ""
	if d := cmp.Diff(want, registrationOf(a)); d != "" {
		t.Error(d)
	}
	a.Responsible = storage.ByNobody
	p.describe(&a, filled())
	if a.MayIntrospect || a.SkipConsent || a.EndpointAudience {
		t.Error("an application for which nobody is responsible keeps what an administrator has given it")
	}
}

// A change that is refused must be shown at its field, and a field that people change must be one of the columns whose
// changes an event names.
func TestEveryFieldHasTheColumnThatTheRulesName(t *testing.T) {
	rules := policy.New(policy.Settings{})
	for column := range reflect.TypeFor[storage.Application]().Fields() {
		name, empty := column.Tag.Get("db"), storage.Application{Responsible: storage.ByOperator}
		set, other := empty, empty
		for i, a := range []*storage.Application{&set, &other} {
			switch value := reflect.ValueOf(a).Elem().FieldByIndex(column.Index).Addr().Interface().(type) {
			case *string:
				*value = []string{"urn:mandate:acr:mfa", "a\nb"}[i]
			case *bool:
				*value = i == 0
			case *int64:
				*value = int64(i+1) << 40
			}
		}
		field := nameOf(name)
		for _, change := range [][2]storage.Application{{empty, set}, {set, other}, {set, empty}} {
			if slices.Contains(rules.Vouched(change[0], change[1]), name) && field == "" {
				t.Errorf("a change of %s is refused, and no field has this column", name)
			}
		}
		if field != "" && !slices.Contains(policy.ChangedColumns(empty, set), name) {
			t.Errorf("the field %s changes the column %s, and no event names that", field, name)
		}
	}
	for _, f := range fields {
		if f.Column(&storage.Application{}) == nil || !slices.Contains(slices.Collect(maps.Values(namesOfColumns)), f.Name) {
			t.Errorf("%s has no column of its own", f.Name)
		}
	}
}

// The rules about columns name the same switches: an owner may not turn them on, and they have no effect for an
// application for which nobody is responsible.
func TestGuardedSwitchesAreThoseOfTheRules(t *testing.T) {
	rules := policy.New(policy.Settings{})
	for _, f := range Fields() {
		vouched := storage.Application{Responsible: storage.ByOperator}
		nobodys := storage.Application{Responsible: storage.ByNobody}
		before := vouched
		_, is := f.Column(&vouched).(*bool)
		if !is {
			continue
		}
		*f.Column(&vouched).(*bool), *f.Column(&nobodys).(*bool) = true, true
		limited := rules.Effective(nobodys)
		if refused := len(rules.Vouched(before, vouched)) > 0; refused != f.Guarded {
			t.Errorf("%s: guarded %v, refused to an owner %v", f.Name, f.Guarded, refused)
		}
		if kept := *f.Column(&limited).(*bool); kept == f.Guarded {
			t.Errorf("%s: guarded %v, kept by nobody's application %v", f.Name, f.Guarded, kept)
		}
	}
}

// set gives a guarded field a value in the column, and in the registration.
func set(f Field, r *Registration, a *storage.Application, was, said bool) {
	if column, is := f.Column(a).(*bool); is {
		*column, *f.Value(r).(*bool) = was, said
		return
	}
	if was {
		*f.Column(a).(*string) = "a rule"
	}
	if said {
		*f.Value(r).(*[]string) = []string{"a rule"}
	}
}

// Each guarded field is refused to whoever is no administrator, to an application of a person, and to a public one.
func TestGuardedFieldsAreChecked(t *testing.T) {
	p := &Clients{rules: policy.New(policy.Settings{})}
	owner, root := policy.By(storage.User{ID: "owner"}), policy.By(storage.User{ID: "root", Administrator: true})
	operators, persons := storage.ByOperator, storage.ByOwner
	for _, f := range guarded() {
		for what, test := range map[string]struct {
			actor       policy.Actor
			responsible string
			kind        string
			was, said   bool
			refused     bool
		}{
			"an owner, on":                      {owner, operators, policy.Confidential, false, true, true},
			"an owner, off":                     {owner, operators, policy.Confidential, true, false, true},
			"an owner, as it was":               {owner, operators, policy.Confidential, true, true, false},
			"an administrator, on":              {root, operators, policy.Confidential, false, true, false},
			"an administrator, for a person":    {root, persons, policy.Confidential, false, true, true},
			"an administrator, public":          {root, operators, policy.Public, false, true, true},
			"an administrator, off":             {root, operators, policy.Confidential, true, false, false},
			"a person who had it, as it was":    {owner, persons, policy.Confidential, true, true, false},
			"a person who never had it, public": {owner, persons, policy.Public, false, true, true},
		} {
			was, r := storage.Application{Responsible: test.responsible}, Registration{ClientType: test.kind}
			set(f, &r, &was, test.was, test.said)
			found := &oauth.Invalid{}
			checkPrivileges(found, test.actor, r, was, p.rules.AllowanceOf(was))
			refused := test.refused && !(f.Name == "claims" && what == "an administrator, public")
			if wrong := found.At(f.Name); (wrong != "") != refused {
				t.Errorf("%s, %s: %q", f.Name, what, wrong)
			}
		}
	}
}
