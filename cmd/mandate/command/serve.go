package command

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/app/config"
	"mandate/app/lines"
)

func (p *program) serveCommand() *cobra.Command {
	return &cobra.Command{Use: "serve", Short: "Run the authorization server", Args: arguments(),
		Long: `Run the authorization server. Its settings are in mandate.yaml or in environment
variables, such as MANDATE_LISTEN. The most important ones are:

  LISTEN        the address and the port that the server binds (127.0.0.1:8000)
  BASE_URL      the URL at which people and applications reach it
  DATABASE_URL  the database (sqlite:///mandate.db)

"mandate config print" shows all settings and their values.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return stopped(c.Context(), p.serve(c.Context()))
		}}
}

func (p *program) serve(ctx context.Context) error {
	settings, err := config.Load(p.config, p.Environ)
	if err != nil {
		return err
	}
	process, end := p.longRunning(settings)
	defer end()
	return process.Serve(ctx, settings)
}

// longRunning prepares this process for a server. The returned function writes the last lines of the log.
func (p *program) longRunning(settings *config.Config) (app.Process, func()) {
	p.relaxGC()
	p.limitMemory(os.DirFS("/"))
	out := lines.New(p.Stderr)
	log := settings.Logger(out)
	outlive(log)
	sayLost(out, log)
	return app.Process{
		Environ: p.Environ,
		Stdout:  p.Stdout,
		Log:     log,
		Lost:    out.Lost,
		Version: p.build().Version,
	}, func() { out.Close() }
}

// sayLost says in the log, when somebody reads it again, that lines were lost.
func sayLost(out *lines.Writer, log *slog.Logger) {
	out.OnResumed(func(lost int64) {
		log.Warn("lines of this log were lost: its destination took nothing for a second", "lines", lost)
	})
}
