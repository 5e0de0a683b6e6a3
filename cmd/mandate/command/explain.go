package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/errorcode"
)

func (p *program) explainCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "explain ERROR_TEXT",
		Short: "Explain an error of the server: its clause, its cause and what to do",
		Args:  cobra.ArbitraryArgs,
		Long: `Explain an error that an application, a page or the log shows. ERROR_TEXT is an
error code, an error_description or a part of it, a response, the address of a
redirect, a line of the log, or the message of a program in front of this server
(docs/troubleshooting.md). It needs no configuration and no server.

  mandate explain invalid_grant
  mandate explain "code_challenge is missing"
  mandate explain "issuer did not match the issuer returned by provider"

Without ERROR_TEXT it lists all error codes. If nothing fits exactly, it
prints what is nearest, or nothing, and the exit code is 1.`,
		RunE: func(_ *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if strings.TrimSpace(text) == "" {
				return p.listErrorCodes(asJSON)
			}
			found, certain := errorcode.Explain(text)
			if err := p.printMatches(found, asJSON); err != nil {
				return err
			}
			switch {
			case certain:
				return nil
			case len(found) == 0:
				return errors.New(
					"nothing here explains that text: docs/troubleshooting.md says where the reason of a refusal " +
						"stands, mandate doctor looks at the running server, and mandate explain without a text lists all error codes",
				)
			}
			return errors.New("nothing has exactly that text: these are the nearest ones")
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// explanation is a row of the table as JSON.
type explanation struct {
	Error       string `json:"error,omitempty"`
	Description string `json:"error_description,omitempty"`
	Message     string `json:"message,omitempty"` // of a program, in place of the error
	Source      string `json:"source,omitempty"`
	Cause       string `json:"cause"`
	Cure        string `json:"cure"`
}

func explanationOf(m errorcode.Match) explanation {
	if m.Message.Says != "" {
		return explanation{Message: m.Message.Says, Cause: m.Message.Means, Cure: m.Message.Cure}
	}
	shown := explanation{
		Error:       m.Code.Name,
		Description: m.Description,
		Source:      m.Code.Source,
		Cause:       m.Code.Cause,
		Cure:        m.Code.Cure,
	}
	if m.Case.Cure != "" {
		shown.Cure = m.Case.Cure
	}
	return shown
}

func (p *program) listErrorCodes(asJSON bool) error {
	views, rows := []explanation{}, [][]string{{"ERROR", "CAUSE"}}
	for _, c := range errorcode.All() {
		views = append(views, explanationOf(errorcode.Match{Code: c}))
		rows = append(rows, []string{c.Name, c.Cause})
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	return writeTable(p.Stdout, rows)
}

func (p *program) printMatches(found []errorcode.Match, asJSON bool) error {
	views := []explanation{}
	for _, m := range found {
		views = append(views, explanationOf(m))
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		if err := printExplanation(p.Stdout, v); err != nil {
			return err
		}
	}
	return nil
}

func printExplanation(w io.Writer, v explanation) error {
	rows := [][2]string{
		{"Error", v.Error},
		{"Text", v.Description},
		{"Message", v.Message},
		{"Document", v.Source},
		{"Cause", v.Cause},
		{"What to do", v.Cure},
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-12s%s\n", row[0]+":", row[1]); err != nil {
			return err
		}
	}
	return nil
}
