package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/app/config"
	"mandate/app/httpserve"
	"mandate/cmd/mandate/demo"
	"mandate/templates"
)

const demoTargetFile = "target.yaml"

func (p *program) demoCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a server with example people and applications on a temporary database",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if p.config != "" {
				return wrongUsage("--config cannot be used with demo, which has its own configuration: use serve")
			}
			if !demo.MayListen(address) {
				return wrongUsage(
					"--listen %s: write 127.0.0.1:8000, or :8000 in a container; the demo has no TLS, so it serves this machine only",
					address,
				)
			}
			return stopped(c.Context(), p.demo(c.Context(), address))
		},
	}
	c.Flags().StringVar(
		&address, "listen", "127.0.0.1:8000",
		"`ADDRESS` to listen at; if its port is in use, the demo uses the next free port",
	)
	return c
}

func (p *program) demo(ctx context.Context, address string) error {
	ctx = app.ByServer(ctx)
	listener, err := demo.Listen(address, p.Stdout)
	if err != nil {
		return err
	}
	defer listener.Close()
	dir, err := os.MkdirTemp("", "mandate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The environment is ignored: its settings belong to another server.
	file, target := filepath.Join(dir, "mandate.yaml"), filepath.Join(dir, demoTargetFile)
	err = demo.WriteConfig(
		file, "http://"+httpserve.Address(listener), listener.Addr().String(), filepath.Join(dir, "demo.db"),
	)
	if err != nil {
		return err
	}
	settings, err := config.Load(file, nil)
	if err != nil {
		return err
	}
	log := settings.Logger(p.Stderr)
	documents, host, err := demo.DocumentHost(listener, dir)
	if err != nil {
		return err
	}
	a, err := app.Open(ctx, settings, app.ToMigrate, app.Extras{Documents: host}, log)
	if err != nil {
		return err
	}
	defer a.Close()
	cast, err := demo.Fill(ctx, a.Provider, settings.BaseURL)
	if err == nil {
		err = cast.WriteTarget(ctx, documents, target)
	}
	if err != nil {
		return fmt.Errorf("fill the demo's database: %w", err)
	}
	handler, err := a.Handler(ctx, listener)
	if err != nil {
		return err
	}
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		return err
	}
	tools, err := demo.NewTools(cast, log)
	if err != nil {
		return err
	}
	cast.Print(p.Stdout, file, target)
	return a.Run(ctx, tools.Before(demo.NewSites(cast, pages, log).Before(handler)), listener)
}
