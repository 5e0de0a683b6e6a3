package command

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mandate/provider/clients"
	"mandate/provider/resources"
)

// withoutFlag are the fields of a registration for which application update has no flag, and the reason.
var withoutFlag = map[string]string{
	"ClientID":     "it never changes",
	"ClientSecret": "application rotate-secret replaces it",
	"Owner":        "application assign and application take-over change it",
	"Program":      "it never changes: --for of application add names it",
	"SectorURI":    "only an application that registers itself has it, from its metadata",
	"Said":         "it names the flags that are present",
	"Site":         "site add and site update set it",
}

// A flag for a field that only one of the commands has is forgotten in the other: what somebody has set with one could
// not be changed with it.
func TestAddAndUpdateHaveAFlagForEveryFieldOfAnApplication(t *testing.T) {
	p := &program{}
	add, update := flagsOf(p.applicationAddCommand()), flagsOf(p.applicationUpdateCommand())
	own := []string{"client-id", "client-secret-stdin", "owner", "for", "url"} // of add
	for _, name := range add {
		if !slices.Contains(update, name) && !slices.Contains(own, name) {
			t.Errorf("application update lacks --%s", name)
		}
	}
	set := map[string]bool{}
	for _, name := range update {
		if !slices.Contains(add, name) {
			t.Errorf("application add lacks --%s", name)
		}
		if name == "json" {
			continue
		}
		changed := differences(clients.Registration{}, readFlag(t, name, valueFor(t, name), clients.Registration{}))
		if len(changed) == 0 {
			changed = differences(filled(), readFlag(t, name, valueFor(t, name), filled()))
		}
		if len(changed) == 0 {
			t.Errorf("--%s changes nothing", name)
		}
		for _, field := range changed {
			set[field] = true
		}
		if typeOf(name) == "bool" && len(differences(readFlag(
			t, name, "true", filled(),
		), readFlag(t, name, "false", filled()))) == 0 {
			t.Errorf("--%s=false does not switch off what --%s switches on", name, name)
		}
	}
	for _, name := range differences(clients.Registration{}, filled()) {
		reason, left := withoutFlag[name]
		if !left && !set[name] {
			t.Errorf("no flag sets %s of a registration: add it to fieldFlags", name)
		}
		if left && set[name] {
			t.Errorf("a flag sets %s, although %s", name, reason)
		}
	}
}

// An application that nobody has told anything else keeps all that it has.
func TestUpdateWithoutFlagsKeepsEveryField(t *testing.T) {
	var f registrationFlags
	c := &cobra.Command{}
	f.add(c)
	kept := filled()
	err := f.read(c, &kept)
	if err != nil {
		t.Fatal(err)
	}
	kept.Said = filled().Said
	if diff := cmp.Diff(filled(), kept); diff != "" {
		t.Error(diff)
	}
}

// readFlag returns a registration after one flag, with the names of flags that it had before.
func readFlag(t *testing.T, name, value string, r clients.Registration) clients.Registration {
	t.Helper()
	var f registrationFlags
	said := r.Said
	c := &cobra.Command{}
	f.add(c)
	err := c.Flags().Set(name, value)
	if err == nil {
		err = f.read(c, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Said = said
	return r
}

// A list that allows everything while it is empty must not become so by an empty variable of somebody's script.
func TestAnEmptyTextAllowsNothing(t *testing.T) {
	for _, name := range []string{"scope", "resource", "response-mode"} {
		err := (&program{}).applicationUpdateCommand().Flags().Set(name, "")
		if err == nil {
			t.Errorf("--%s with the empty text allows everything", name)
		}
	}
}

// valueFor returns a value of a flag that is not the one of filled.
func valueFor(t *testing.T, name string) string {
	switch {
	case name == "jwks":
		file := filepath.Join(t.TempDir(), "keys.json")
		err := os.WriteFile(file, []byte(`{"keys":[]}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return file
	case typeOf(name) == "bool":
		return "true"
	case typeOf(name) == "int64":
		return "7"
	}
	return "other"
}

// typeOf returns the type of a flag.
func typeOf(name string) string {
	return (&program{}).applicationUpdateCommand().Flags().Lookup(name).Value.Type()
}

var flagInUsage = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z-]+)`)

// flagsOf names the flags of a command.
func flagsOf(c *cobra.Command) []string {
	var names []string
	for _, found := range flagInUsage.FindAllStringSubmatch(c.LocalFlags().FlagUsages(), -1) {
		names = append(names, found[1])
	}
	return names
}

// filled returns a registration in which each field has a value.
func filled() clients.Registration {
	var r clients.Registration
	fill(reflect.ValueOf(&r).Elem())
	return r
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString("value")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	default:
		panic("a registration has a field of a new kind: " + v.Kind().String())
	}
}

// differences names the fields in which two registrations differ, and those of its parts.
func differences(a, b clients.Registration) []string {
	return differ("", reflect.ValueOf(a), reflect.ValueOf(b))
}

func differ(prefix string, a, b reflect.Value) []string {
	var names []string
	for i := range a.NumField() {
		name := prefix + a.Type().Field(i).Name
		switch {
		case a.Field(i).Kind() == reflect.Struct:
			names = append(names, differ(name+".", a.Field(i), b.Field(i))...)
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			names = append(names, name)
		}
	}
	return names
}

// A field of a resource without a flag could not be set at the command line, and a change would lose one that is not
// read.
func TestEveryFieldOfAResourceHasAFlagAndIsKept(t *testing.T) {
	set := []string{"URI"} // the argument
	for _, one := range resourceFlags() {
		var r resources.Registration
		field := reflect.ValueOf(one.field(&r)).Elem()
		fill(field)
		set = append(set, differ("", reflect.ValueOf(resources.Registration{}), reflect.ValueOf(r))...)
	}
	var stored resources.Resource
	fill(reflect.ValueOf(&stored.Resource).Elem())
	kept := differ("", reflect.ValueOf(resources.Registration{}), reflect.ValueOf(registered(stored)))
	slices.Sort(set)
	slices.Sort(kept)
	var all []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[resources.Registration]()) {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	if !slices.Equal(set, all) || !slices.Equal(kept, all) {
		t.Errorf("flags set %v, a change keeps %v of %v", set, kept, all)
	}
}
