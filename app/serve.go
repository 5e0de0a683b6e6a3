package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mandate/app/config"
	"mandate/app/httpserve"
	"mandate/app/telemetry"
	"mandate/handlers"
	"mandate/handlers/resource"
	"mandate/provider/checkup"
	"mandate/provider/origin"
	"mandate/templates"
)

// serverPatience is longer than the ten seconds for which a request waits until a
// password can be hashed.
const serverPatience = 30 * time.Second

// ByServer says that the server does what follows on its own.
func ByServer(ctx context.Context) context.Context {
	return origin.With(ctx, &origin.Origin{Actor: origin.Actor{Kind: origin.Server}})
}

// Serve runs the authorization server until ctx ends.
func (p Process) Serve(ctx context.Context, settings *config.Config) error {
	ctx = ByServer(ctx)
	if f := baseFinding(settings); f.Weight != checkup.Fine {
		p.Log.Warn(f.Text, "remedy", f.Remedy)
	}
	bound, err := p.bind(settings, settings.BaseURL)
	if err != nil {
		return err
	}
	defer bound.close()
	tracing, err := p.tracing(ctx)
	if err != nil {
		return err
	}
	defer closeTracing(ctx, tracing, p.Log)
	a, err := Open(ctx, settings, ToMigrate, Extras{Tracing: tracing, Stdout: p.Stdout}, p.Log)
	if err != nil {
		return err
	}
	defer a.Close()
	if a.events != nil {
		err = a.events.Check()
		if err != nil {
			return err
		}
	}
	if bound.ops != nil {
		a.metrics = telemetry.NewMetrics(p.Version)
		a.metrics.OfServer(a.Provider, a.events, p.Lost)
		defer p.serveOps(bound.ops, handlers.Ops{
			Ready:    a.Provider.Ready,
			Stopping: ctx.Done(),
			Metrics:  a.metrics.Handler(p.Log),
			Pprof:    settings.OpsPprof,
			Log:      p.Log,
		})()
	}
	handler, err := a.Handler(ctx, bound.listener)
	if err != nil {
		return err
	}
	err = p.sayFirstSteps(ctx, a)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		p.Stdout,
		"Mandate listens at %s. People and applications reach it at BASE_URL %s\n",
		httpserve.Place(bound.listener),
		settings.BaseURL,
	)
	for _, l := range bound.mutual {
		fmt.Fprintf(
			p.Stdout, "Clients with a certificate reach it at %s, MTLS_BASE_URL %s\n", httpserve.Place(l),
			settings.MTLSBaseURL,
		)
	}
	return a.Run(ctx, handler, append(bound.mutual, bound.listener)...)
}

// Run serves until ctx ends. Until the last response it removes expired rows and
// receives notifications about changes.
func (a *App) Run(ctx context.Context, handler http.Handler, listeners ...net.Listener) error {
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { a.Provider.Run(answering) })
	beside.Go(func() { a.Provider.Listen(answering) })
	defer beside.Wait()
	defer stop()
	return httpserve.Run(ctx, httpserve.New(handler, a.log, serverPatience), stopOf(a.Settings), a.log, listeners...)
}

// stopOf converts the settings of a shutdown.
func stopOf(c *config.Config) httpserve.Stop {
	return httpserve.Stop{Delay: c.ShutdownDelay, Grace: c.Shutdown}
}

// Handler connects the parts. The sample API introspects tokens at the listener.
func (a *App) Handler(ctx context.Context, listener net.Listener) (http.Handler, error) {
	base, err := url.Parse(a.Settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("BASE_URL: %w", err)
	}
	pages, err := templates.New(base.Path, a.brand)
	if err != nil {
		return nil, err
	}
	site := handlers.Config{
		BaseURL:             base,
		LoginURL:            a.Settings.LoginURL,
		TrustedProxies:      a.Settings.TrustedProxies,
		CertificateHeader:   a.Settings.MTLSCertificateHeader,
		MaxBodyBytes:        a.Settings.MaxBodyBytes,
		ReadScope:           a.Settings.Provider.ReadScope,
		WriteScope:          a.Settings.Provider.WriteScope,
		OpenID:              a.Settings.Provider.OpenID,
		Registration:        a.Provider.Registers(),
		RPLogout:            a.Settings.Provider.Logout.Enabled,
		JWKSMaxAge:          int64(a.Settings.Provider.Keys.JWKSMaxAge / time.Second),
		Known:               Findings(a.Settings),
		Log:                 a.log,
		Watch:               a.watch(),
		Stopping:            ctx.Done(),
		SeparateOpsListener: a.Settings.OpsListen != "",
	}
	if a.Settings.SampleAPI {
		site.SampleAPI, err = a.sampleGuard(ctx, listener, base.Path+"/o/introspect/")
		if err != nil {
			return nil, err
		}
	}
	return handlers.New(site, a.Provider, pages)
}

// sampleGuard introspects tokens over HTTP, as any other resource server does: at
// the configured endpoint, or at this process with credentials of its own.
func (a *App) sampleGuard(ctx context.Context, listener net.Listener, path string) (*resource.Guard, error) {
	p := a.Settings.Provider
	if len(p.ResourceServerBaseURLs) == 0 {
		var err error
		p.ResourceServerBaseURLs, err = origins(a.Settings.BaseURL, a.Settings.MTLSBaseURL)
		if err != nil {
			return nil, err
		}
	}
	if p.ResourceServerIntrospectionURL == "" && p.ResourceServerJWKSURL == "" {
		id, secret, err := a.Provider.Clients.SampleAPIClient(ctx)
		if err != nil {
			return nil, fmt.Errorf("register the sample API: %w", err)
		}
		p.ResourceServerIntrospectionURL = httpserve.Scheme(listener) + "://" + httpserve.Address(listener) + path
		p.ResourceServerIntrospectionCredentials = []string{id, secret}
		p.ResourceServerIssuer, p.ResourceServerAudience = a.Provider.Issuer(), cmp.Or(
			p.ResourceServerAudience, a.Settings.BaseURL,
		)
		p.ResourceServerName = cmp.Or(p.ResourceServerName, "Mandate's sample API")
		// This process calls itself, so a proxy of the environment must not be
		// used.
		direct := &http.Transport{DialContext: httpserve.Dial(listener), TLSClientConfig: httpserve.Trust(listener),
			MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute}
		return newGuard(a.Settings, p, a.traced(direct), a.log)
	}
	return newGuard(a.Settings, p, nil, a.log)
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
func (p Process) sayFirstSteps(ctx context.Context, a *App) error {
	link, err := a.Provider.People.SetupLink(ctx)
	if err != nil {
		return fmt.Errorf("count the accounts: %w", err)
	}
	if link != "" {
		fmt.Fprintf(
			p.Stdout, "There is no account yet. Create the first administrator with this one-time link: %s/setup/%s/\n",
			a.Settings.BaseURL, link,
		)
	}
	return nil
}
