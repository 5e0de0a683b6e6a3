package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mandate/app/config"
	"mandate/app/httpserve"
	"mandate/app/telemetry"
	"mandate/conformance/wire"
	"mandate/handlers"
	"mandate/handlers/resource"
)

// proxyPatience is the longest time for a response of the upstream, and for an
// upload of a client.
const proxyPatience = 5 * time.Minute

// Protect runs a resource server until ctx ends. It needs no database.
func (p Process) Protect(ctx context.Context, settings *config.Config) error {
	proxy, guard, err := newProxy(settings, p.Log)
	if err != nil {
		return err
	}
	bound, err := p.bind(settings, "") // BASE_URL is that of the authorization server
	if err != nil {
		return err
	}
	defer bound.close()
	if bound.ops != nil {
		ready := func(context.Context) error { return nil } // a provider that does not answer is reported for each request
		metrics := telemetry.NewMetrics(p.Version).Handler(p.Log)
		defer p.serveOps(
			bound.ops,
			handlers.Ops{Ready: ready, Stopping: ctx.Done(), Metrics: metrics, Pprof: settings.OpsPprof, Log: p.Log},
		)()
	}
	fmt.Fprintf(p.Stdout, "Mandate protects %s at %s\n", settings.Upstream, httpserve.Place(bound.listener))
	for _, l := range bound.mutual {
		fmt.Fprintf(p.Stdout, "Clients with a certificate reach it at %s\n", httpserve.Place(l))
	}
	p.sayMetadata(settings, proxy)
	// The authorization server may start later, so that this is no reason to end.
	var asking sync.WaitGroup
	asking.Go(func() { _ = guard.Ask(context.WithoutCancel(ctx)) })
	defer asking.Wait()
	server := httpserve.New(proxy, p.Log, proxyPatience)
	server.RegisterOnShutdown(proxy.Close)
	return httpserve.Run(ctx, server, stopOf(settings), p.Log, append(bound.mutual, bound.listener)...)
}

func newProxy(settings *config.Config, log *slog.Logger) (*resource.Proxy, *resource.Guard, error) {
	upstream, err := url.Parse(settings.Upstream)
	if err != nil {
		return nil, nil, fmt.Errorf("UPSTREAM: %w", err)
	}
	guard, err := newGuard(settings, settings.Provider, nil, log)
	if err != nil {
		return nil, nil, err
	}
	var rules []resource.Rule
	for _, r := range settings.Rules {
		rules = append(rules, resource.Rule{
			Path:          r.Path,
			Methods:       r.Methods,
			Scopes:        r.Scopes,
			Login:         resource.Login{MaxAge: r.MaxAge, ACRValues: r.ACRValues},
			WebSocket:     r.WebSocket,
			PathAsWritten: r.PathAsWritten,
		})
	}
	proxy, err := resource.NewProxy(resource.ProxyConfig{
		Upstream:          upstream,
		Guard:             guard,
		Rules:             rules,
		PassAuthorization: settings.PassAuthorization,
		ReservedHeaders:   settings.ReservedHeaders,
		Recheck:           max(settings.Provider.ResourceServerTokenCaching, time.Second),
		Logger:            log,
	})
	switch {
	case errors.Is(err, resource.ErrReservedHeaders):
		return nil, nil, fmt.Errorf("RESERVED_HEADERS: %w", err)
	case err != nil:
		return nil, nil, fmt.Errorf("RULES: %w", err)
	}
	return proxy, guard, nil
}

// sayMetadata prints where clients find the authorization server, and the command that
// adds the API there.
func (p Process) sayMetadata(settings *config.Config, proxy *resource.Proxy) {
	c := settings.Provider
	if proxy.MetadataURL() == "" {
		if c.ResourceServerIssuer != "" && c.ResourceServerAudience != "" {
			fmt.Fprintln(
				p.Stdout,
				"It has no metadata (RFC 9728), because RESOURCE_SERVER_AUDIENCE is not an https URL without a fragment",
			)
		}
		return
	}
	fmt.Fprintf(
		p.Stdout, "Its metadata is at %s. If the authorization server does not know the API yet, add it there: %s\n",
		proxy.MetadataURL(), addResource(settings),
	)
}

// addResource returns the command for a shell that adds the API at the authorization server.
func addResource(settings *config.Config) string {
	c := settings.Provider
	introspector := "CLIENT-ID"
	if len(c.ResourceServerIntrospectionCredentials) > 0 {
		introspector = c.ResourceServerIntrospectionCredentials[0]
	}
	add := []string{"mandate", "resource", "add", c.ResourceServerAudience,
		"--name", cmp.Or(c.ResourceServerName, "My API"), "--introspector", introspector}
	options := len(add)
	for _, r := range settings.Rules {
		for _, scope := range r.Scopes {
			if !slices.Contains(add[options:], scope) {
				add = append(add, "--scope", scope)
			}
		}
	}
	for i, word := range add {
		add[i] = wire.ShellWord(word)
	}
	return strings.Join(add, " ")
}
