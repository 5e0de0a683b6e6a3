package storage

import (
	"reflect"
	"slices"
	"strings"
)

// column is a column of a record: a field of its struct with the tag db. The tag written says when a statement writes
// it: always, only when the row is added (once), or never, because a statement of its own does.
// The tag administrators has the value that only an administrator sets.
type column struct{ name, written, administrators string }

// columnsOf returns the columns of a record, in the order of its fields.
func columnsOf(record any) []column {
	var columns []column
	for f := range reflect.TypeOf(record).Fields() {
		columns = append(columns, column{f.Tag.Get("db"), f.Tag.Get("written"), f.Tag.Get("administrators")})
	}
	return columns
}

// selected lists the columns for a SELECT from the table of this name. Some columns have an expression of their own.
func selected(columns []column, table string, own map[string]string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = table + "." + c.name
		if expression, has := own[c.name]; has {
			list[i] = expression + " AS " + c.name
		}
	}
	return strings.Join(list, ", ")
}

// inserted returns the statement that adds a row, with the values as the names of the fields (see named). instead has
// the columns in which one field is stored, and their values.
func inserted(columns []column, table string, instead map[string][]assignment) string {
	var names, values []string
	for _, one := range assignments(columns, instead, "never") {
		names, values = append(names, one.column), append(values, one.value)
	}
	return `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(values, ", ") + `)`
}

// updated lists what an UPDATE sets.
func updated(columns []column, instead map[string][]assignment) string {
	var list []string
	for _, one := range assignments(columns, instead, "never", "once") {
		list = append(list, one.column+" = "+one.value)
	}
	return strings.Join(list, ", ")
}

// assignment gives a column a value.
type assignment struct{ column, value string }

func assignments(columns []column, instead map[string][]assignment, without ...string) []assignment {
	var list []assignment
	for _, c := range columns {
		own, has := instead[c.name]
		switch {
		case slices.Contains(without, c.written):
		case has:
			list = append(list, own...)
		default:
			list = append(list, assignment{c.name, ":" + c.name})
		}
	}
	return list
}

// decision is a column of which an administrator alone sets one value, or any value but none ("*"), or any value, which
// a new owner gets too ("kept"). An UPDATE has the condition same if the value may not have changed since the record
// was read (as was), and the assignment none if nobody is to have the value.
type decision struct {
	same string
	none assignment
}

// decisions returns the decisions of administrators about a record. A field that is stored in other columns has that
// column which has the value of the decision.
func decisions(columns []column, instead map[string][]assignment) []decision {
	var list []decision
	for _, c := range columns {
		value := "'" + c.administrators + "'"
		switch own, has := instead[c.name]; {
		case c.administrators == "":
		case has:
			for _, one := range own {
				if one.value == "(:"+c.name+" = "+value+")" {
					list = append(list, decision{
						one.column + " = (:was." + c.name + " = " + value + ")", assignment{one.column, "FALSE"},
					})
				}
			}
		case c.administrators == "true":
			list = append(list, decision{c.name + " = :was." + c.name, assignment{c.name, "FALSE"}})
		case c.administrators == "*":
			list = append(list, decision{c.name + " = :was." + c.name, assignment{c.name, "''"}})
		case c.administrators == "kept":
			list = append(list, decision{same: c.name + " = :was." + c.name})
		default:
			list = append(list, decision{
				"(" + c.name + " = " + value + ") = (:was." + c.name + " = " + value + ")",
				assignment{c.name, "CASE " + c.name + " WHEN " + value + " THEN '' ELSE " + c.name + " END"},
			})
		}
	}
	return list
}

// undecided is the condition that no administrator has decided anything since the record was read.
func undecided(columns []column, instead map[string][]assignment) string {
	var list []string
	for _, one := range decisions(columns, instead) {
		list = append(list, one.same)
	}
	return strings.Join(list, " AND ")
}

// withdrawn lists what an UPDATE sets to withdraw the decisions of administrators.
func withdrawn(columns []column, instead map[string][]assignment) string {
	var list []string
	for _, one := range decisions(columns, instead) {
		if one.none.column != "" {
			list = append(list, one.none.column+" = "+one.none.value)
		}
	}
	return strings.Join(list, ", ")
}
