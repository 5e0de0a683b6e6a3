package app

import (
	"reflect"
	"strings"
	"testing"

	"mandate/app/config"
)

// Each setting that a component of the provider declares arrives there with its value.
func TestComponentsGetTheirSettings(t *testing.T) {
	var c config.Config
	for _, setting := range settingsIn(reflect.ValueOf(&c).Elem()) {
		fill(t, setting)
	}
	passed := providerConfig(&c, nil)
	got := settingsIn(reflect.ValueOf(&passed).Elem())
	declared := 0
	for key, setting := range settingsIn(reflect.ValueOf(&c).Elem()) {
		if !strings.HasPrefix(setting.owner.PkgPath(), "mandate/provider") {
			continue
		}
		declared++
		if _, there := got[key]; !there {
			t.Errorf("provider.Config has no %s", key)
		} else if !reflect.DeepEqual(setting.value.Interface(), got[key].value.Interface()) {
			t.Errorf("%s: %v, want %v", key, got[key].value, setting.value)
		}
	}
	if declared < 70 {
		t.Errorf("only %d settings", declared)
	}
}

type given struct {
	value reflect.Value
	owner reflect.Type // the struct that declares it
}

// settingsIn returns the settings of a struct and of the structs in it, by key.
func settingsIn(v reflect.Value) map[string]given {
	found := map[string]given{}
	for i := range v.NumField() {
		part := v.Type().Field(i)
		key := part.Tag.Get("key")
		switch {
		case !part.IsExported(), key == "-":
		case part.Type.Kind() == reflect.Struct:
			for key, inner := range settingsIn(v.Field(i)) {
				found[key] = inner
			}
		case key != "":
			found[key] = given{v.Field(i), v.Type()}
		}
	}
	return found
}

// fill gives a setting a value that is not its zero value.
func fill(t *testing.T, s given) {
	t.Helper()
	switch v := s.value; {
	case v.CanInt():
		v.SetInt(7)
	case v.CanUint():
		v.SetUint(7)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		t.Fatal(v.Type())
	}
}
