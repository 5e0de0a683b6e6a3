package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/storage"
)

// weakening is what the table decides about the changes of one column.
type weakening struct {
	vouched string // the changes that an owner without administrator rights may not make
	gives   string // the changes after which whoever makes them signs in again
	alone   string // the same, for an application that asks nobody
	limited bool   // an application for which nobody is responsible loses a value
}

// The changes of a column, see changesOf.
const (
	anyChange = "set other emptied more less"
	replaced  = "other emptied more less"
)

// weakenings is what each column must have. The columns that it does not list weaken nothing.
var weakenings = map[string]weakening{
	"client_type":               {anyChange, anyChange, anyChange, false},
	"grant_types":               {anyChange, "", anyChange, true},
	"redirect_uris":             {anyChange, "set other more", "set other more", true},
	"scopes":                    {anyChange, "", anyChange, false},
	"hash_client_secret":        {"emptied", "", "", false},
	"may_introspect":            {"set", "", "", true},
	"skip_consent":              {"set", "set", "set", true},
	"pkce":                      {"emptied", "", "", true},
	"require_pushed":            {"emptied", "", "", false},
	"sender_constraint":         {replaced, "", "", false},
	"profile":                   {replaced, "", "", false},
	"access_token_lifetime":     {"set other", "", "", true},
	"refresh_token_lifetime":    {"set other", "", "", true},
	"algorithm":                 {anyChange, "", "", false},
	"userinfo_algorithm":        {anyChange, "", "", false},
	"introspection_algorithm":   {anyChange, "", "", false},
	"sector":                    {"set emptied", "", "", false},
	"post_logout_redirect_uris": {anyChange, "", "", true},
	"backchannel_logout_uri":    {anyChange, "", "", false},
	"access_token_format":       {anyChange, "", "", false},
	"resources":                 {anyChange, "", anyChange, false},
	"auth_method":               {anyChange, anyChange, anyChange, false},
	"auth_algorithm":            {anyChange, "", "", false},
	"jwks":                      {anyChange, anyChange, anyChange, false},
	"jwks_uri":                  {anyChange, anyChange, anyChange, false},
	"endpoint_audience":         {"set", "", "", true},
	"certificate_subject":       {anyChange, anyChange, anyChange, false},
	"object_algorithm":          {replaced, "", "", false},
	"require_signed":            {"emptied", "", "", false},
	"request_uris":              {"set other more", "", "", false},
	"response_algorithm":        {anyChange, "", "", false},
	"response_modes":            {"other emptied more", "", "", false},
	"required_acr":              {"other emptied more", replaced, replaced, false},
	"allowed_groups":            {anyChange, "other emptied more", "other emptied more", false},
	"denied_groups":             {anyChange, "other emptied less", "other emptied less", false},
	"nobody_new":                {"emptied", "emptied", "emptied", false},
	"default_acr":               {replaced, "", "", false},
	"refresh_rotation":          {"emptied", "", "", true},
	"claims_in_id_token":        {"emptied", "", "", true},
	"launch_url":                {anyChange, "", "", false},
	"claims":                    {anyChange, "set other more less", "set other more less", true},
}

// texts are the two values of those columns whose values have a meaning. The first one is the stronger one.
var texts = map[string][2]string{
	"redirect_uris":             {"https://a.example/", "http://a.example/"},
	"post_logout_redirect_uris": {"https://a.example/", "http://a.example/"},
	"required_acr":              {"phr", "urn:mandate:acr:mfa"},
	"pkce":                      {PKCERequired, PKCEIfSent},
	"refresh_rotation":          {RotationOn, RotationOff},
	"claims_in_id_token":        {ClaimsOff, ClaimsOn},
}

// valuesOf returns two values of the column at an index, and both together if it can have that.
func valuesOf(at int) (first, second, both any) {
	column := reflect.TypeFor[storage.Application]().Field(at)
	words, known := texts[column.Tag.Get("db")]
	if !known {
		words = [2]string{"value", "other"}
	}
	switch reflect.New(column.Type).Elem().Interface().(type) {
	case bool:
		return true, true, true
	case *bool:
		return new(true), new(false), new(true)
	case int64:
		return int64(1) << 30, int64(1) << 31, int64(1) << 30
	case *string:
		return &words[0], &words[1], &words[0]
	}
	return words[0], words[1], words[0] + "\n" + words[1]
}

// changesOf returns the changes of the column at an index: a value instead of none, another value, none, one value
// more, and one less.
func changesOf(at int) map[string][2]any {
	none := reflect.Zero(reflect.TypeFor[storage.Application]().Field(at).Type).Interface()
	first, second, both := valuesOf(at)
	return map[string][2]any{
		"set": {none, first}, "other": {first, second}, "emptied": {first, none},
		"more": {first, both}, "less": {both, first},
	}
}

// with returns an application with a value in the column at an index.
func with(a storage.Application, at int, value any) storage.Application {
	reflect.ValueOf(&a).Elem().Field(at).Set(reflect.ValueOf(value))
	return a
}

// found returns what the table decides about the column at an index.
func found(c *Rules, at int, name string) weakening {
	asks := storage.Application{Responsible: storage.ByOperator, ClientType: Confidential, GrantTypes: GrantCode}
	alone := asks
	alone.SkipConsent = true
	var w [3][]string
	for _, change := range strings.Fields(anyChange) {
		values := changesOf(at)[change]
		for i, yes := range []bool{
			len(c.Vouched(with(asks, at, values[0]), with(asks, at, values[1]))) > 0,
			c.GivesAway(with(asks, at, values[0]), with(asks, at, values[1])),
			c.GivesAway(with(alone, at, values[0]), with(alone, at, values[1])),
		} {
			if yes {
				w[i] = append(w[i], change)
			}
		}
	}
	first, second, _ := valuesOf(at)
	limited := slices.ContainsFunc([]any{first, second}, func(value any) bool {
		nobodys := storage.Application{Responsible: storage.ByNobody, ClientType: Public, GrantTypes: GrantCode}
		nobodys = with(nobodys, at, value)
		return slices.Contains(ChangedColumns(nobodys, c.Effective(nobodys)), name)
	})
	return weakening{strings.Join(w[0], " "), strings.Join(w[1], " "), strings.Join(w[2], " "), limited}
}

// A row that asks less than it must would let an owner change what an administrator answers for, or would give an
// application away without a question.
func TestEachColumnIsGuardedAgainstEachChange(t *testing.T) {
	c := New(settings())
	for at := range reflect.TypeFor[storage.Application]().NumField() {
		name := reflect.TypeFor[storage.Application]().Field(at).Tag.Get("db")
		if d := cmp.Diff(weakenings[name], found(c, at, name), cmp.AllowUnexported(weakening{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A value that a standing takes away is a decision of an administrator: storage must not let an older version of the
// application undo it, and must take it away if somebody else becomes responsible.
func TestStorageKnowsTheDecisionsOfAdministrators(t *testing.T) {
	c := New(settings())
	for at := range reflect.TypeFor[storage.Application]().NumField() {
		column := reflect.TypeFor[storage.Application]().Field(at)
		name, decision := column.Tag.Get("db"), column.Tag.Get("administrators")
		if strings.HasSuffix(name, "redirect_uris") {
			continue // each URI has its own scheme
		}
		if decision == "kept" {
			decision = "" // it narrows, so no standing takes it away
		}
		taken := ""
		first, second, _ := valuesOf(at)
		for _, value := range []any{first, second} {
			persons := with(storage.Application{
				Responsible: storage.ByOwner, OwnerID: new("ann"), OwnerActive: new(true), ClientType: Confidential,
				GrantTypes: GrantCode,
			}, at, value)
			vouched := persons
			vouched.Responsible = storage.ByOperator
			if slices.Contains(ChangedColumns(persons, c.Effective(persons)), name) &&
				!slices.Contains(ChangedColumns(vouched, c.Effective(vouched)), name) {
				taken = either(taken, fmt.Sprint(value))
			}
		}
		if taken != decision {
			t.Errorf("%s: the standing of a person takes away %q, storage has the decision %q", name, taken, decision)
		}
	}
}

// either returns the values of a decision: one, or any.
func either(before, value string) string {
	if before == "" || before == value {
		return value
	}
	return "*"
}
