package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"mandate/provider/clients"
	"mandate/provider/oauth"
)

// flagOf names the flag or argument that sets a field that is not one of an application, or has the same name there.
var flagOf = map[string]string{
	"username":              "USERNAME",
	"email":                 "--email",
	"first_name":            "--first-name",
	"last_name":             "--last-name",
	"group":                 "--group",
	"administrator":         "--admin",
	"attributes":            "--attribute",
	"auditor":               "--auditor",
	"administers":           "--administers",
	"password":              "password",
	"client_id":             "--client-id",
	"client_secret":         "client secret",
	"owner":                 "--owner",
	"overlap":               "--overlap",
	"name":                  "name",
	"uri":                   "URI",
	"scopes":                "--scope",
	"token_format":          "--token-format",
	"jwt_typ":               "--jwt-typ",
	"introspectors":         "--introspector",
	"hosts":                 "--host",
	"public_paths":          "--public-path",
	"uses":                  "--uses",
	"expires":               "--expires",
	"may":                   "--may",
	"subject":               "--subject",
	"email_verified":        "--email-verified",
	"phone_number_verified": "--phone-number-verified",
	"middle_name":           "--middle-name",
	"nickname":              "--nickname",
	"gender":                "--gender",
	"birthdate":             "--birthdate",
	"zoneinfo":              "--zoneinfo",
	"locale":                "--locale",
	"phone_number":          "--phone-number",
	"picture":               "--picture",
	"website":               "--website",
	"address":               "--address",
	"street_address":        "--street-address",
	"locality":              "--locality",
	"region":                "--region",
	"postal_code":           "--postal-code",
	"country":               "--country",
	"recipient":             "EMAIL",
	"language":              "--language",
	"until":                 "--until",
	"url":                   "--url",
	"program":               "--for",
}

// flagFor returns the flag or argument that sets a field, or the name of the field.
func flagFor(name string) string {
	if flag, known := flagOf[name]; known {
		return flag
	}
	if f, known := clients.FieldOf(name); known {
		return "--" + f.Flag
	}
	return name
}

// explain describes an error for a person at the command line.
func explain(err error) string {
	if found, ok := errors.AsType[*oauth.Invalid](err); ok {
		var lines []string
		for _, f := range found.Fields {
			flag := flagFor(f.Field)
			for line := range strings.Lines(f.Message) {
				lines = append(lines, flag+": "+strings.TrimSuffix(line, "\n"))
			}
		}
		return strings.Join(lines, "\n")
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	refused, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		return err.Error()
	}
	if cause := refused.Unwrap(); cause != nil {
		return cause.Error() // a person at the command line may see the cause
	}
	return refused.Description
}

// missing replaces "not found" by a sentence, and returns other errors unchanged.
func missing(err error, what, name, list string) error {
	if errors.Is(err, oauth.ErrNotFound) {
		return fmt.Errorf("there is no %s %q: mandate %s lists those that exist", what, name, list)
	}
	return err
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// withJSON gives a command the flag --json, which done reads.
func (p *program) withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.asJSON, "json", false, "print JSON")
	return c
}

// done says what a command of withJSON has done: with the record as JSON, or in a sentence.
func (p *program) done(record any, format string, args ...any) error {
	return p.report(p.asJSON, record, format, args...)
}

// report says what a command has done: with the record as JSON, or in a sentence.
func (p *program) report(asJSON bool, record any, format string, args ...any) error {
	if asJSON {
		return writeJSON(p.Stdout, record)
	}
	_, err := fmt.Fprintf(p.Stdout, format, args...)
	return err
}

// writeTable writes rows in columns. The first row contains the headings. Cells contain
// what people entered: the table shows control characters and other characters without a
// glyph as escape sequences, so that the terminal does not execute them.
func writeTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = graphic(cell)
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return t.Flush()
}

// graphic returns a text with escape sequences in place of the characters that have no
// glyph.
func graphic(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		escaped := strconv.QuoteRuneToGraphic(r)
		b.WriteString(escaped[1 : len(escaped)-1])
	}
	return b.String()
}

const (
	maxSecret = 4 << 10
	maxKey    = 64 << 10 // RSA keys can have any size
)

// readSecret reads a secret from standard input: every account of the machine can
// read a command line. One final line end is not part of the secret.
func (p *program) readSecret(what string) (string, error) {
	return p.readStdin(what, maxSecret)
}

func (p *program) readStdin(what string, most int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(p.Stdin, most+1))
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if int64(len(text)) > most {
		return "", fmt.Errorf("the %s on standard input is longer than %d bytes", what, most)
	}
	secret, ended := strings.CutSuffix(string(text), "\n")
	if ended {
		secret = strings.TrimSuffix(secret, "\r")
	}
	if secret == "" {
		return "", fmt.Errorf("standard input is empty: it must contain the %s", what)
	}
	return secret, nil
}

// onTerminal reports whether standard input is a terminal.
func (p *program) onTerminal() bool {
	file, ok := p.Stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
