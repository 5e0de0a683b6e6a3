package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/app/config"
)

// validView is a configuration without a mistake as JSON.
type validView struct {
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
}

func (p *program) configCheckCommand() *cobra.Command {
	return p.withJSON(&cobra.Command{Use: "check", Short: "Check the configuration", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			settings, err := config.Load(p.config, p.Environ)
			if err != nil {
				return err
			}
			warnings, err := app.Check(settings, settings.Logger(p.Stderr))
			if err != nil {
				return err
			}
			view := validView{true, append([]string{}, warnings...)}
			for _, warning := range warnings {
				fmt.Fprintln(p.Stderr, "mandate: "+warning)
			}
			return p.done(view, "The configuration is valid.\n")
		}})
}

func (p *program) configPrintCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "print",
			Short: "Print every setting with its effective value and its source; secrets are masked",
			Args:  arguments(),
			RunE: func(*cobra.Command, []string) error {
				settings, err := config.Load(p.config, p.Environ)
				if err != nil {
					return err
				}
				if p.asJSON {
					return writeJSON(p.Stdout, settings.List())
				}
				settings.Print(p.Stdout)
				return nil
			},
		},
	)
}
