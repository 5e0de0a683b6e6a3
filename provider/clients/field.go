package clients

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Kind says what a field holds, and so how forms show and send it.
type Kind int

const (
	Text    Kind = iota // for people
	Line                // one address or identifier
	Block               // of several lines
	Lines               // a list, one entry a line
	Choice              // one of some values
	Choices             // some of some values
	Switch
	Seconds
)

// Field is a field of a registration. Its rules are in Check, and in the table of package policy.
type Field struct {
	Name   string // in forms and in messages
	Member string // of the client metadata, if it has another name there
	Kind   Kind
	// Plain: it decides nothing, so it needs no code of its own. Client metadata may have it, and whoever sees the
	// application sees it.
	Plain    bool
	Answered bool // the answer to a registration has the stored value
	OpenID   bool // the form has it only with OpenID Connect
	Guarded  bool // only an administrator may set it
	Access   bool // it says who may use the application: only an administrator may change it
	Wide     bool // an empty list allows everything
	Label    string
	Short    string // the label without an explanation, if there is one
	Hint     string
	Flag     string
	Usage    string // "": a command has code of its own for the flag

	of func(*Registration, *storage.Application) (value, column any)
}

// Fields returns the table of the fields, in the order of the form.
func Fields() []Field { return slices.Clone(fields) }

// FieldOf returns the field with a name.
func FieldOf(name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// guarded returns the fields that only an administrator may set.
func guarded() []Field { return slices.DeleteFunc(Fields(), func(f Field) bool { return !f.Guarded }) }

// Value returns a pointer to the value in a registration.
func (f Field) Value(r *Registration) any {
	value, _ := f.of(r, &storage.Application{})
	return value
}

// Column returns a pointer to the column of an application. A switch with a text as column is on if the text is not
// empty.
func (f Field) Column(a *storage.Application) any {
	_, column := f.of(&Registration{}, a)
	return column
}

// Same reports whether two registrations have the same value. The order of a list does not count.
func (f Field) Same(a, b *Registration) bool {
	one, other := f.Value(a), f.Value(b)
	if list, is := one.(*[]string); is {
		return oauth.SameSet(*list, *other.(*[]string))
	}
	return reflect.DeepEqual(one, other)
}

// MetadataName is the name of the field in client metadata.
func (f Field) MetadataName() string { return cmp.Or(f.Member, f.Name) }

// Title is the name of the field for people.
func (f Field) Title() string { return cmp.Or(f.Short, f.Label) }

// PlainMembers names the members of client metadata that are plain fields.
func PlainMembers() []string {
	var names []string
	for _, f := range fields {
		if f.Plain {
			names = append(names, f.MetadataName())
		}
	}
	return names
}

// Said is a plain field that an application has.
type Said struct{ Name, Label, Text string }

// PlainOf returns the plain fields of an application that are not empty.
func PlainOf(a storage.Application) []Said {
	var found []Said
	for _, f := range fields {
		if text, is := f.Stored(&a).(string); is && f.Plain {
			found = append(found, Said{f.Name, f.Label, text})
		}
	}
	return found
}

// store copies the value of a field into its column.
func (f Field) store(r *Registration, a *storage.Application) {
	value, column := f.of(r, a)
	switch stored := column.(type) {
	case *bool:
		*stored = *value.(*bool)
	case *int64:
		*stored = *value.(*int64)
	case *string:
		switch said := value.(type) {
		case *string:
			*stored = *said
		case *[]string:
			*stored = strings.Join(*said, f.separator())
		}
	}
}

// load copies the column of a field into its value.
func (f Field) load(r *Registration, a *storage.Application) {
	value, column := f.of(r, a)
	switch stored := column.(type) {
	case *bool:
		*value.(*bool) = *stored
	case *int64:
		*value.(*int64) = *stored
	case *string:
		switch said := value.(type) {
		case *string:
			*said = *stored
		case *bool:
			*said = *stored != ""
		case *[]string:
			*said = f.split(*stored)
		}
	}
}

// separator stands between the entries of a list in a column.
func (f Field) separator() string {
	if f.Kind == Lines {
		return "\n"
	}
	return " "
}

func (f Field) split(stored string) []string {
	if f.Kind == Lines {
		return oauth.Lines(stored)
	}
	return strings.Fields(stored)
}

// Stored returns the value in the column: a text, a list, a number or a bool. It returns nil if it is empty.
func (f Field) Stored(a *storage.Application) any {
	var r Registration
	value, _ := f.of(&r, a)
	f.load(&r, a)
	switch said := value.(type) {
	case *bool:
		if *said {
			return true
		}
	case *int64:
		if *said != 0 {
			return *said
		}
	case *string:
		if *said != "" {
			return *said
		}
	case *[]string:
		if len(*said) > 0 {
			return *said
		}
	}
	return nil
}

// describe copies a registration into the record.
func (p *Clients) describe(a *storage.Application, r Registration) {
	a.Sector = sectorOf(r, *a) // by what it was before
	// An administrator granted these rights to the application as it was then. A change
	// by somebody else removes them permanently.
	if !p.rules.AllowanceOf(*a).AdministratorRights {
		dropLenient(&r, *a)
		for _, f := range guarded() {
			reflect.ValueOf(f.Value(&r)).Elem().SetZero()
		}
	}
	r.DefaultACR = strings.Join(strings.Fields(r.DefaultACR), " ")
	r.AccessTokenFormat = cmp.Or(r.AccessTokenFormat, policy.FormatOpaque)
	r.Authentication.JWKS = compact(r.Authentication.JWKS)
	r.Authentication.CertificateSubject = clientauth.StoredSubject(r.Authentication.CertificateSubject)
	for _, f := range fields {
		f.store(&r, a)
	}
}

// registrationOf returns the registration that an application has now.
func registrationOf(a storage.Application) Registration {
	var r Registration
	for _, f := range fields {
		f.load(&r, &a)
	}
	return r
}

// AuthenticationOf returns how an application authenticates.
func AuthenticationOf(a storage.Application) Authentication { return registrationOf(a).Authentication }
