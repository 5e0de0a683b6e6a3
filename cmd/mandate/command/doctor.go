package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider"
	"mandate/provider/checkup"
	"mandate/provider/policy"
)

func (p *program) doctorCommand() *cobra.Command {
	asJSON, all := false, false
	c := &cobra.Command{
		Use:   "doctor [APPLICATION]",
		Short: "Look for what keeps applications and people from using the running server",
		Args:  atMost("APPLICATION"),
		Long: `Look at the running server as an application does, at its BASE_URL, and at what it
has stored: the connection, the certificate, the clocks, what a proxy does, the metadata
and the keys as four libraries read them, mail, the database, redirect URIs, requests that
were refused, and addresses. Each finding has its remedy, and the worst come first.

APPLICATION is a client ID. Then the findings about other applications are left out.
Refused requests in its name whose sender is unknown are added: those of a program with
a wrong secret, for example.

It needs the configuration of the server, changes nothing, and sends no message. The exit
code is 1 if something is wrong; a warning alone is no error.`,
		RunE: func(c *cobra.Command, args []string) error {
			return stopped(c.Context(), p.doctor(c.Context(), strings.Join(args, ""), asJSON, all))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print every check as JSON")
	c.Flags().BoolVar(&all, "all", false, "also print the checks that found nothing")
	return c
}

// errUnwell is what a run ends with that has found something wrong. The findings say what.
var errUnwell = errors.New("something is wrong: see the findings above")

func (p *program) doctor(ctx context.Context, application string, asJSON, all bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	about, ofStrangers := "", []checkup.Finding(nil)
	if application != "" {
		a, err := o.provider.Clients.ApplicationByClientID(ctx, policy.Operator(), application)
		if err != nil {
			return missing(err, "application", application, "application list")
		}
		about, ofStrangers = provider.AboutApplication(a), o.provider.RefusedToStrangers(ctx, a)
	}
	found := o.provider.Checkup(ctx, app.Findings(o.settings)...)
	if about != "" {
		found = slices.DeleteFunc(found, func(f checkup.Finding) bool {
			return (f.Check == "redirect-uris" || f.Check == "refused-requests") && f.About != "" && f.About != about
		})
		found = append(found, ofStrangers...)
	}
	if asJSON {
		err = writeJSON(p.Stdout, found)
	} else {
		err = printFindings(p.Stdout, found, all)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f checkup.Finding) bool { return f.Weight == checkup.Wrong }) {
		return errUnwell
	}
	return nil
}

func printFindings(w io.Writer, found []checkup.Finding, all bool) error {
	passed := 0
	for _, f := range found {
		if f.Weight == checkup.Fine {
			passed++
			if !all {
				continue
			}
		}
		about := ""
		if f.About != "" {
			about = graphic(f.About) + ": "
		}
		if _, err := fmt.Fprintf(w, "%-8s%s: %s%s\n", f.Weight, f.Check, about, graphic(f.Text)); err != nil {
			return err
		}
		if f.Remedy != "" {
			if _, err := fmt.Fprintf(w, "        %s\n", graphic(f.Remedy)); err != nil {
				return err
			}
		}
	}
	text := "%d checks passed.\n"
	if passed == 1 {
		text = "%d check passed.\n"
	}
	_, err := fmt.Fprintf(w, text, passed)
	return err
}
