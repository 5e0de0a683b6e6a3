package command

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// words is the value of a flag that may be repeated and whose values contain no space: one argument can have several.
//
// RFC 6749 §3.3: spaces separate scopes, and no scope contains one.
type words []string

// Set adds the words of one argument. The empty text stays, because it empties the list.
func (w *words) Set(text string) error {
	found := strings.Fields(text)
	if len(found) == 0 {
		found = []string{""}
	}
	*w = append(*w, found...)
	return nil
}

// Type is the one of a list of texts.
func (*words) Type() string { return "stringArray" }

func (w *words) String() string { return strings.Join(*w, " ") }

// narrowing is the value of a flag like words, for a list that allows everything while it is empty. A script whose
// variable is empty must not allow more than it says, so everything has a name.
type narrowing []string

const everything = "__all__" // as in DEFAULT_SCOPES

// Set adds the words of one argument.
func (n *narrowing) Set(text string) error { return n.add(strings.Fields(text)) }

func (n *narrowing) add(found []string) error {
	switch {
	case len(found) == 0:
		return errors.New("the empty text would allow everything: name what is allowed, or write " + everything)
	case slices.Contains(append(found, *n...), everything) && len(found)+len(*n) > 1:
		return errors.New(everything + " stands alone")
	}
	*n = append(*n, found...)
	return nil
}

// narrowingNames is narrowing for names that may have spaces.
type narrowingNames []string

// Set adds one argument.
func (n *narrowingNames) Set(text string) error {
	return (*narrowing)(n).add(withoutEmpty([]string{strings.TrimSpace(text)}))
}

// Type is the one of a list of texts.
func (*narrowingNames) Type() string { return "stringArray" }

func (n *narrowingNames) String() string { return strings.Join(*n, "\n") }

// list returns the list as records have it.
func (n *narrowing) list() []string {
	if slices.Equal(*n, []string{everything}) {
		return nil
	}
	return *n
}

// Type is the one of a list of texts.
func (*narrowing) Type() string { return "stringArray" }

func (n *narrowing) String() string { return strings.Join(*n, " ") }

// fieldFlag is a flag that sets one field of a record: a text, a list of texts or of words, a number or a box. The
// command that adds a record and the command that changes it have the same.
type fieldFlag[T any] struct {
	name, usage string
	field       func(*T) any // a pointer to it
}

// addFlags adds flags whose values are stored in said.
func addFlags[T any](c *cobra.Command, list []fieldFlag[T], said *T) {
	flags := c.Flags()
	for _, one := range list {
		switch field := one.field(said).(type) {
		case *string:
			flags.StringVar(field, one.name, "", one.usage)
		case *[]string:
			flags.StringArrayVar(field, one.name, nil, one.usage)
		case *words:
			flags.Var(field, one.name, one.usage)
		case *narrowing:
			usage := one.usage
			if !strings.Contains(usage, everything) {
				usage += "; " + everything + " stands for that"
			}
			flags.Var(field, one.name, usage)
		case *narrowingNames:
			flags.Var(field, one.name, one.usage)
		case *int64:
			flags.Int64Var(field, one.name, 0, one.usage)
		case *bool:
			flags.BoolVar(field, one.name, false, one.usage)
		}
	}
}

// readFlags sets the fields whose flags are present.
func readFlags[T any](c *cobra.Command, list []fieldFlag[T], said, into *T) {
	for _, one := range list {
		if !c.Flags().Changed(one.name) {
			continue
		}
		switch field := one.field(into).(type) {
		case *string:
			*field = *one.field(said).(*string)
		case *[]string:
			*field = withoutEmpty(*one.field(said).(*[]string))
		case *words:
			*field = withoutEmpty(*one.field(said).(*words))
		case *narrowing:
			*field = one.field(said).(*narrowing).list()
		case *narrowingNames:
			*field = (*narrowing)(one.field(said).(*narrowingNames)).list()
		case *int64:
			*field = *one.field(said).(*int64)
		case *bool:
			*field = *one.field(said).(*bool)
		}
	}
}

// withoutEmpty returns a list without empty texts: a flag with an empty text empties the list.
func withoutEmpty(list []string) []string {
	var kept []string
	for _, one := range list {
		if one != "" {
			kept = append(kept, one)
		}
	}
	return kept
}
