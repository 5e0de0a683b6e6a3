package signin

import (
	"testing"

	"mandate/provider/policy"
	"mandate/templates/languages"
)

// A person reads about a built-in scope in their own language. What an operator writes stays as it is.
func TestScopesAreDescribedInLanguages(t *testing.T) {
	all, err := languages.Load()
	if err != nil {
		t.Fatal(err)
	}
	const english = "See your email address"
	for _, tag := range languages.Tags() {
		l := all.Accepted(tag)
		if got := describe(l, policy.Scope{
			Name:        "email",
			Description: english,
			BuiltIn:     true,
		}); got == "" || (got == english) != (tag == "en") {
			t.Errorf("%s: %s", tag, got)
		}
		if got := describe(l, policy.Scope{Name: "email", Description: english}); got != english {
			t.Errorf("%s: the operator's text has become %s", tag, got)
		}
	}
}
