package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mandate/cmd/mandate/config"
	"mandate/cmd/mandate/httpserve"
	"mandate/cmd/mandate/lines"
	"mandate/cmd/mandate/telemetry"
	"mandate/handlers"
	"mandate/handlers/resource"
	"mandate/provider/checkup"
	"mandate/templates"
)

// serverPatience is longer than the ten seconds for which a request waits until a
// password can be hashed.
const serverPatience = 30 * time.Second

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
	ctx = byServer(ctx)
	settings, err := config.Load(p.config, p.environ)
	if err != nil {
		return err
	}
	p.relaxGC()
	p.limitMemory(os.DirFS("/"))
	out := lines.New(p.stderr)
	defer out.Close()
	log := settings.Logger(out)
	outlive(log)
	sayLost(out, log)
	if f := baseFinding(settings); f.Weight != checkup.Fine {
		log.Warn(f.Text, "remedy", f.Remedy)
	}
	bound, err := p.bind(settings, settings.BaseURL, log)
	if err != nil {
		return err
	}
	defer bound.close()
	tracing, err := p.tracing(ctx, log)
	if err != nil {
		return err
	}
	defer closeTracing(ctx, tracing, log)
	o, err := open(ctx, settings, toMigrate, extras{tracing: tracing, stdout: p.stdout}, log)
	if err != nil {
		return err
	}
	if o.events != nil {
		defer o.events.Close() // after the store: nothing is stored any more
		err = o.events.Check()
		if err != nil {
			o.store.Close()
			return err
		}
	}
	defer o.store.Close()
	if bound.ops != nil {
		o.metrics = telemetry.NewMetrics(programVersion())
		o.metrics.OfServer(o.provider, o.events, out.Lost)
		ops := handlers.Ops{
			Ready:    o.provider.Ready,
			Stopping: ctx.Done(),
			Metrics:  o.metrics.Handler(log),
			Pprof:    settings.OpsPprof,
			Log:      log,
		}
		defer p.serveOps(bound.ops, ops)()
	}
	handler, err := o.handler(ctx, bound.listener, log)
	if err != nil {
		return err
	}
	err = p.sayFirstSteps(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		p.stdout,
		"Mandate listens at %s. People and applications reach it at BASE_URL %s\n",
		httpserve.Place(bound.listener),
		settings.BaseURL,
	)
	for _, l := range bound.mutual {
		fmt.Fprintf(p.stdout, "Clients with a certificate reach it at %s, MTLS_BASE_URL %s\n", httpserve.Place(l), settings.MTLSBaseURL)
	}
	return o.run(ctx, handler, log, append(bound.mutual, bound.listener)...)
}

// sayLost says in the log, when somebody reads it again, that lines were lost.
func sayLost(out *lines.Writer, log *slog.Logger) {
	out.OnResumed(func(lost int64) {
		log.Warn("lines of this log were lost: its destination took nothing for a second", "lines", lost)
	})
}

// relaxGC uses a few megabytes more to save a tenth of the work: so little
// memory is in use that Go's default would collect garbage a hundred times per
// second.
func (p *program) relaxGC() {
	if !slices.ContainsFunc(p.environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(400)
	}
}

// run serves until ctx ends. Until the last response it removes expired rows and
// receives notifications about changes.
func (o *opened) run(ctx context.Context, handler http.Handler, log *slog.Logger, listeners ...net.Listener) error {
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { o.provider.Run(answering) })
	beside.Go(func() { o.provider.Listen(answering) })
	defer beside.Wait()
	defer stop()
	return httpserve.Run(ctx, httpserve.New(handler, log, serverPatience), stopOf(o.settings), log, listeners...)
}

// stopOf converts the settings of a shutdown.
func stopOf(c *config.Config) httpserve.Stop {
	return httpserve.Stop{Delay: c.ShutdownDelay, Grace: c.Shutdown}
}

// handler connects the parts.
func (o *opened) handler(ctx context.Context, listener net.Listener, log *slog.Logger) (http.Handler, error) {
	base, err := url.Parse(o.settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("BASE_URL: %w", err)
	}
	pages, err := templates.New(base.Path, o.brand)
	if err != nil {
		return nil, err
	}
	site := handlers.Config{
		BaseURL:             base,
		LoginURL:            o.settings.LoginURL,
		TrustedProxies:      o.settings.TrustedProxies,
		CertificateHeader:   o.settings.MTLSCertificateHeader,
		MaxBodyBytes:        o.settings.MaxBodyBytes,
		ReadScope:           o.settings.Provider.ReadScope,
		WriteScope:          o.settings.Provider.WriteScope,
		OpenID:              o.settings.Provider.OpenID,
		Registration:        o.provider.Registers(),
		RPLogout:            o.settings.Provider.OIDCRPLogout,
		JWKSMaxAge:          int64(o.settings.Provider.OIDCJWKSMaxAge / time.Second),
		Known:               settingFindings(o.settings),
		Log:                 log,
		Watch:               o.watch(),
		Stopping:            ctx.Done(),
		SeparateOpsListener: o.settings.OpsListen != "",
	}
	if o.settings.SampleAPI {
		site.SampleAPI, err = o.sampleGuard(ctx, listener, base.Path+"/o/introspect/", log)
		if err != nil {
			return nil, err
		}
	}
	return handlers.New(site, o.provider, pages)
}

// sampleGuard introspects tokens over HTTP, as any other resource server does: at
// the configured endpoint, or at this process with credentials of its own.
func (o *opened) sampleGuard(ctx context.Context, listener net.Listener, path string, log *slog.Logger) (*resource.Guard, error) {
	p := o.settings.Provider
	if len(p.ResourceServerBaseURLs) == 0 {
		var err error
		p.ResourceServerBaseURLs, err = origins(o.settings.BaseURL, o.settings.MTLSBaseURL)
		if err != nil {
			return nil, err
		}
	}
	if p.ResourceServerIntrospectionURL == "" && p.ResourceServerJWKSURL == "" {
		id, secret, err := o.provider.Clients.SampleAPIClient(ctx)
		if err != nil {
			return nil, fmt.Errorf("register the sample API: %w", err)
		}
		p.ResourceServerIntrospectionURL = httpserve.Scheme(listener) + "://" + httpserve.Address(listener) + path
		p.ResourceServerIntrospectionCredentials = []string{id, secret}
		p.ResourceServerIssuer, p.ResourceServerAudience = o.provider.Issuer(), cmp.Or(p.ResourceServerAudience, o.settings.BaseURL)
		p.ResourceServerName = cmp.Or(p.ResourceServerName, "Mandate's sample API")
		// This process calls itself, so a proxy of the environment must not be
		// used.
		direct := &http.Transport{DialContext: httpserve.Dial(listener), TLSClientConfig: httpserve.Trust(listener),
			MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute}
		return newGuard(o.settings, p, o.traced(direct), log)
	}
	return newGuard(o.settings, p, nil, log)
}

// origins returns the scheme and host of each of these URLs, without the empty ones. The path of
// BASE_URL is also in the path of a request.
func origins(urls ...string) ([]string, error) {
	var all []string
	for _, one := range urls {
		u, err := url.Parse(one)
		if err != nil {
			return nil, fmt.Errorf("the base URL of the sample API: %w", err)
		}
		if u.Host != "" {
			all = append(all, u.Scheme+"://"+u.Host)
		}
	}
	return all, nil
}

// sayFirstSteps prints the link that creates the first administrator if there is no
// user. The link is a secret, so the log does not contain it.
func (p *program) sayFirstSteps(ctx context.Context, o *opened) error {
	link, err := o.provider.People.SetupLink(ctx)
	if err != nil {
		return fmt.Errorf("count the accounts: %w", err)
	}
	if link != "" {
		fmt.Fprintf(p.stdout, "There is no account yet. Create the first administrator with this one-time link: %s/setup/%s/\n", o.settings.BaseURL, link)
	}
	return nil
}
