package storage

import (
	"reflect"
	"slices"
	"strings"
)

// column is a column of a record: a field of its struct with the tag db. The tag written says when a statement writes
// it: always, only when the row is added (once), or never, because a statement of its own does.
type column struct{ name, written string }

// columnsOf returns the columns of a record, in the order of its fields.
func columnsOf(record any) []column {
	var columns []column
	for f := range reflect.TypeOf(record).Fields() {
		columns = append(columns, column{f.Tag.Get("db"), f.Tag.Get("written")})
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
