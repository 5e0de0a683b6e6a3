package clients

import (
	"mandate/provider/errorcode"
	"mandate/provider/events"
	"mandate/provider/policy"
)

// Remedy says what to change after a refusal.
type Remedy struct {
	Text string // empty: the description of the refusal says all
	// of the form that changes the application; errorcode.RotateSecret is the page that replaces the secret; may be empty
	Field string
}

// RemedyOf returns what to change after a refusal.
func RemedyOf(r events.Refusal) Remedy {
	name := r.Error
	if name == policy.ScopeLeftOut { // for the same reasons
		name = "invalid_scope"
	}
	code, _ := errorcode.Find(name)
	if one, found := code.Case(r.Description); found {
		return Remedy{one.Cure, one.Field}
	}
	if code.Direct {
		return Remedy{code.Cure, code.Field}
	}
	return Remedy{}
}

// RemedyFields returns the fields of the form to which remedies lead.
func RemedyFields() []string {
	var fields []string
	add := func(field string) {
		if field != "" && field != errorcode.RotateSecret {
			fields = append(fields, field)
		}
	}
	for _, c := range errorcode.All() {
		add(c.Field)
		for _, one := range c.Cases {
			add(one.Field)
		}
	}
	return fields
}
