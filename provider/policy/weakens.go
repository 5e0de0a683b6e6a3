package policy

import (
	"reflect"

	"mandate/storage"
)

// asked returns the fields whose function, which question selects, returns true for a change.
func asked(c Change, question func(Field) func(Change) bool) []Field {
	var found []Field
	for _, f := range applicationFields {
		c.at = columnIndex[f.Column]
		if question(f)(c) {
			found = append(found, f)
		}
	}
	return found
}

// columnIndex finds the field of the struct with a column.
var columnIndex = func() map[string]int {
	found, of := map[string]int{}, reflect.TypeFor[storage.Application]()
	for i := range of.NumField() {
		found[of.Field(i).Tag.Get("db")] = i
	}
	return found
}()

// Effective returns an application with the rights that it has now: the registered
// ones, limited to what its standing allows. The others stay registered. They have
// effect again when its standing allows them.
func (c *Rules) Effective(a storage.Application) storage.Application {
	may := c.AllowanceOf(a)
	for _, limit := range applicationLimits {
		limit(c, may, &a)
	}
	return a
}

// applicationLimits are the fields that a standing limits: each token request and introspection asks them.
var applicationLimits = func() (limits []func(*Rules, Allowance, *storage.Application)) {
	for _, f := range applicationFields {
		if reflect.ValueOf(f.Limit).Pointer() != reflect.ValueOf(unlimited).Pointer() {
			limits = append(limits, f.Limit)
		}
	}
	return limits
}()

// EffectiveRights returns an application with the rights that it has now, as Effective does.
// The second result reports whether rights are registered that it cannot use now.
func (c *Rules) EffectiveRights(a storage.Application) (storage.Application, bool) {
	now := c.Effective(a)
	more := asked(Change{rules: c, was: &a, now: &now}, func(f Field) func(Change) bool { return f.Exceeds })
	return now, len(more) > 0
}

// Vouched names the columns of a change that an owner without administrator rights may not make, because an
// administrator is responsible for the application: a redirect URI, or a longer lifetime.
func (c *Rules) Vouched(was, now storage.Application) []string {
	var columns []string
	for _, f := range asked(
		Change{rules: c, was: &was, now: &now}, func(f Field) func(Change) bool { return f.Vouched },
	) {
		columns = append(columns, f.Column)
	}
	return columns
}

// GivesAway reports whether whoever makes a change must sign in again.
func (c *Rules) GivesAway(was, now storage.Application) bool {
	change := Change{rules: c, was: &was, now: &now}
	return len(asked(change, func(f Field) func(Change) bool { return f.GivesAway })) > 0
}

// ChangedColumns names the columns that a change writes, but for those that no event names.
func ChangedColumns(was, now storage.Application) []string {
	var names []string
	for _, f := range asked(Change{was: &was, now: &now}, func(Field) func(Change) bool { return changed }) {
		if !f.Unreported {
			names = append(names, f.Column)
		}
	}
	return names
}
