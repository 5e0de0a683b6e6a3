package clients

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clientauth"
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

// A switch that an application loses with its administrator is one that only an administrator may set.
func TestGuardedFieldsAreThoseThatNobodysApplicationLoses(t *testing.T) {
	p := &Clients{rules: policy.New(policy.Settings{})}
	a := storage.Application{Responsible: storage.ByNobody, ClientID: "id"}
	p.describe(&a, filled())
	for _, f := range Fields() {
		on, is := f.Column(&a).(*bool)
		if is && *on == f.Guarded {
			t.Errorf("%s: guarded %v, kept %v", f.Name, f.Guarded, *on)
		}
	}
}
