package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mandate/cmd/mandate/config"
	"mandate/provider/checkup"
)

// validView is a configuration without a mistake as JSON.
type validView struct {
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
}

func (p *program) configCheckCommand() *cobra.Command {
	return p.withJSON(&cobra.Command{Use: "check", Short: "Check the configuration", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			settings, err := config.Load(p.config, p.environ)
			if err != nil {
				return err
			}
			log, base := settings.Logger(p.stderr), settings.BaseURL
			if settings.Upstream != "" {
				base = ""                        // for a resource server it is another server
				_, err = newProxy(settings, log) // it checks the rules further
			}
			if err == nil {
				_, err = certificateOf(settings, base, log) // it reads the files
			}
			if err == nil {
				_, err = clientAuthorities(settings) // it reads the file
			}
			if err == nil {
				_, err = brandOf(settings) // it reads the logo
			}
			if err != nil {
				return err
			}
			view := validView{true, []string{}}
			if f := baseFinding(settings); f.Weight != checkup.Fine && base != "" {
				view.Warnings = append(view.Warnings, f.Text+" "+f.Remedy)
				fmt.Fprintln(p.stderr, "mandate: "+view.Warnings[0])
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
				settings, err := config.Load(p.config, p.environ)
				if err != nil {
					return err
				}
				if p.asJSON {
					return writeJSON(p.stdout, settings.List())
				}
				settings.Print(p.stdout)
				return nil
			},
		},
	)
}
