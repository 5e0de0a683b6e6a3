package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mandate/cmd/mandate/config"
)

func (p *program) configCheckCommand() *cobra.Command {
	return &cobra.Command{Use: "check", Short: "Check the configuration", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			settings, err := config.Load(p.config, p.environ)
			if err == nil && settings.Upstream != "" {
				_, err = newProxy(settings, settings.Logger(p.stderr)) // it checks the rules further
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.stdout, "The configuration is valid.")
			return err
		}}
}

func (p *program) configPrintCommand() *cobra.Command {
	return &cobra.Command{Use: "print", Short: "Print every setting with its effective value and its source; secrets are masked", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			settings, err := config.Load(p.config, p.environ)
			if err != nil {
				return err
			}
			settings.Print(p.stdout)
			return nil
		}}
}
