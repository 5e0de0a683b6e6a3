package command

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app/config"
)

// otherWords are the words of other programs for commands and flags of this one.
var otherWords = map[string]string{
	"rm":           "delete",
	"remove":       "delete",
	"create":       "add",
	"new":          "add",
	"register":     "add",
	"ls":           "list",
	"get":          "show",
	"info":         "show",
	"describe":     "show",
	"edit":         "update",
	"change":       "update",
	"modify":       "update",
	"set":          "update",
	"start":        "serve",
	"run":          "serve",
	"init":         "migrate",
	"status":       "doctor",
	"client":       "application",
	"clients":      "application",
	"people":       "user",
	"account":      "user",
	"log":          "events",
	"audit":        "events",
	"callback":     "redirect-uri",
	"callback-url": "redirect-uri",
	"callback-uri": "redirect-uri",
	"type":         "client-type",
}

// meant returns the names that a person can have meant by a word: the one that it is another word for, those that it
// abbreviates, the one that it makes longer, or the one that is spelled almost so.
func meant(word string, names []string) []string {
	word = strings.ToLower(word)
	if other := otherWords[word]; slices.Contains(names, other) {
		return []string{other}
	}
	var shortened []string
	longest := ""
	for _, name := range names {
		if len(word) > 1 && strings.HasPrefix(name, word) {
			shortened = append(shortened, name)
		}
		if len(name) > max(2, len(longest)) && strings.HasPrefix(word, name) {
			longest = name
		}
	}
	near := config.Nearest(word, names)
	switch {
	case len(shortened) > 0 && len(shortened) <= 3:
		return shortened
	case near != "":
		return []string{near}
	case longest != "":
		return []string{longest}
	}
	return nil
}

// didYouMean is the end of a sentence about an unknown name, or "" if nothing is near. before stands before each name.
func didYouMean(word, before string, names []string) string {
	found := meant(word, names)
	for i := range found {
		found[i] = before + found[i]
	}
	if len(found) == 0 {
		return ""
	}
	last := len(found) - 1
	if last == 0 {
		return "; did you mean " + found[0] + "?"
	}
	return "; did you mean " + strings.Join(found[:last], ", ") + " or " + found[last] + "?"
}

// noCommand is the error for a command that does not exist.
func noCommand(c *cobra.Command, word string, names []string) error {
	near := didYouMean(word, c.CommandPath()+" ", names)
	if near == "" {
		near = "; the commands are " + strings.Join(names, ", ")
	}
	return wrongUsage("there is no command %q%s", word, near)
}

// all collects what a function passes on, such as the flags of a command.
func all[T any](each func(func(T))) []T {
	var found []T
	each(func(one T) { found = append(found, one) })
	return found
}

// flagNames lists the flags of a command.
func flagNames(c *cobra.Command) []string {
	var names []string
	for _, f := range all(c.Flags().VisitAll) {
		names = append(names, f.Name)
	}
	return names
}

// wrongFlag improves the errors of cobra about flags.
func wrongFlag(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 { // it is the command that is unknown
		return c.RunE(c, words)
	}
	text := err.Error()
	if word, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		if setting := settingFor(c, word); setting != "" {
			return wrongUsage(
				"%s: the setting %s is for that, in mandate.yaml or as MANDATE_%s",
				text,
				setting,
				setting,
			)
		}
		return wrongUsage("%s%s", text, didYouMean(word, "--", flagNames(c)))
	}
	if strings.HasPrefix(text, "unknown shorthand flag") { // a client id may begin with a dash
		_, word, _ := strings.Cut(text, " in -")
		if name, _, _ := strings.Cut(word, "="); c.Flags().Lookup(name) != nil {
			return wrongUsage("unknown flag: -%s; did you mean --%s?", name, name)
		}
		return wrongUsage("%s: write -- before an argument that begins with a dash", text)
	}
	return plainly(err)
}

// unexpected is the error for arguments that a command does not have. Some are flags in another spelling.
func unexpected(c *cobra.Command, args []string) error {
	name, value := args[0], ""
	if at := strings.IndexAny(name, ":="); at > 0 {
		name, value = name[:at], strings.TrimSpace(name[at+1:])
	}
	if value == "" && len(args) > 1 {
		value = args[1]
	}
	f := c.Flags().Lookup(name)
	switch {
	case f == nil:
		return wrongUsage("unexpected argument %q", args[0])
	case f.Value.Type() == "bool":
		return wrongUsage("unexpected argument %q; did you mean --%s?", args[0], name)
	}
	if value == "" {
		_, kind, _ := strings.Cut(f.Usage, "`")
		value, _, _ = strings.Cut(kind, "`")
	} else if strings.ContainsAny(value, " '\"$&|;<>()*?#\\`") {
		value = quoted(value)
	}
	return wrongUsage("unexpected argument %q; did you mean --%s %s?", args[0], name, value)
}

// quoted is a text as one argument of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// arguments requires exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return wrongUsage("%s is missing", names[len(args)])
		}
		if len(args) > len(names) {
			return unexpected(c, args[len(names):])
		}
		return nil
	}
}

// atMost allows one argument.
func atMost(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return wrongUsage("unexpected argument %q after %s", args[1], name)
		}
		return nil
	}
}

// secretArguments is arguments for a command that reads a secret from standard input. One argument too many can be
// the secret, so the error does not repeat it.
func secretArguments(secret, example string, names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return wrongUsage(
				"unexpected argument: the %s is read from standard input, because other accounts of this machine can read "+
					"arguments; for example: %s",
				secret,
				example,
			)
		}
		return arguments(names...)(c, args)
	}
}

// answers are the values that people write after a flag that has none.
var answers = map[string]string{
	"true":  "true",
	"false": "false",
	"yes":   "true",
	"no":    "false",
	"on":    "true",
	"off":   "false",
}

// refuseAnswers lets each command refuse a value in an argument of its own after a flag that has none: the flag would
// be on, whatever the value says.
func (p *program) refuseAnswers(c *cobra.Command) {
	for _, child := range c.Commands() {
		p.refuseAnswers(child)
	}
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		for i, word := range p.args[:max(0, len(p.args)-1)] {
			if word == "--" {
				break
			}
			next := p.args[i+1]
			name, isFlag := strings.CutPrefix(word, "--")
			f := c.Flags().Lookup(name)
			// A group can be named on. Only if there is an argument too many it is certainly a value.
			if isFlag && f != nil && f.Value.Type() == "bool" && answers[next] != "" &&
				(err != nil || answers[next] == next) {
				return wrongUsage("the value of --%s needs an equals sign: --%s=%s", name, name, answers[next])
			}
		}
		return err
	}
}

// ofNewRecord is what the help of a flag says about a record that is added.
var ofNewRecord = regexp.MustCompile(`( \(|; )default: .*$`)

// keepsTheRest removes from the help of an update what a new record has without a flag: here it stays as it is.
func keepsTheRest(c *cobra.Command) {
	for _, f := range all(c.Flags().VisitAll) {
		f.Usage = ofNewRecord.ReplaceAllString(f.Usage, "")
	}
}

// requireChange requires a flag that changes something.
func requireChange(c *cobra.Command) error {
	var names []string
	for _, f := range all(c.Flags().VisitAll) {
		switch {
		case f.Name == "json" || f.Name == "config" || f.Name == "help":
		case f.Changed:
			return nil
		default:
			names = append(names, "--"+f.Name)
		}
	}
	return wrongUsage("no flag says what to change: choose from %s", strings.Join(names, " "))
}
