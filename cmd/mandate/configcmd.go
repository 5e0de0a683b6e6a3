package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) configCheckCommand() *cobra.Command {
	return &cobra.Command{Use: "check", Short: "Say whether the configuration is right", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			config, err := loadConfig(p.config, p.environ)
			if err == nil && config.Upstream != "" {
				_, err = newProxy(config, config.logger(p.stderr)) // it knows more about rules
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.stdout, "The configuration is right.")
			return err
		}}
}

func (p *program) configPrintCommand() *cobra.Command {
	return &cobra.Command{Use: "print", Short: "Print every setting as it is in effect, secrets masked", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			config, err := loadConfig(p.config, p.environ)
			if err != nil {
				return err
			}
			config.print(p.stdout)
			return nil
		}}
}
