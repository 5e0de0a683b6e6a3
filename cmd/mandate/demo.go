package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"mandate/cmd/mandate/config"
	"mandate/templates"
)

const demoConfigFile = "mandate.yaml"

// The settings of the demo. BASE_URL, LISTEN and DATABASE_URL come before them.
const demoSettings = `
SAMPLE_API: true
LOG_LEVEL: error
OAUTH2_PROVIDER:
  OIDC_ENABLED: true
  SCOPES:
    read: Read what the sample API knows
    write: Add people to the sample API
    groups: See the groups of people
    openid: Sign you in
    profile: See your name and profile
    email: See your email address
    introspection: Ask about the tokens of others
  DEFAULT_SCOPES: [read, write, groups]
`

func (p *program) demoCommand() *cobra.Command {
	var address string
	c := &cobra.Command{Use: "demo", Short: "Run a server with people and applications to try, on a throw-away database", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if p.config != "" {
				return wrongUsage("--config does not go with demo, which brings its own configuration: use serve")
			}
			host, port, err := net.SplitHostPort(address)
			_, wrong := strconv.ParseUint(port, 10, 16)
			if err != nil || wrong != nil || !ownHost(host) {
				return wrongUsage("--listen %s: write 127.0.0.1:8000 or :8000; the demo has no TLS, so it is for this machine only", address)
			}
			return stopped(c.Context(), p.demo(c.Context(), address))
		}}
	c.Flags().StringVar(&address, "listen", "127.0.0.1:8000", "`ADDRESS` to listen at; if it is taken, the next free port")
	return c
}

// ownHost allows every address too, for a container that others see as this
// machine.
func ownHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

func (p *program) demo(ctx context.Context, address string) error {
	listener, err := p.listenNear(address)
	if err != nil {
		return err
	}
	defer listener.Close()
	dir, err := os.MkdirTemp("", "mandate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	settings, err := demoConfig(dir, listener)
	if err != nil {
		return err
	}
	log := settings.Logger(p.stderr)
	o, err := open(ctx, settings, toMigrate, nil, log)
	if err != nil {
		return err
	}
	defer o.store.Close()
	cast, err := o.fill(ctx)
	if err == nil {
		err = o.writeTarget(ctx, cast, dir)
	}
	if err != nil {
		return fmt.Errorf("fill the demo's database: %w", err)
	}
	handler, err := o.handler(ctx, listener, log)
	if err != nil {
		return err
	}
	pages, err := templates.New("")
	if err != nil {
		return err
	}
	cast.print(p.stdout, filepath.Join(dir, demoConfigFile))
	visitor := &demoClient{cast: cast, pages: pages, log: log}
	return o.run(ctx, visitor.before(handler), listener, log)
}

// listenNear takes the next free port where the wanted one is taken.
func (p *program) listenNear(address string) (net.Listener, error) {
	const tries = 100
	host, port, _ := net.SplitHostPort(address)
	first, _ := strconv.Atoi(port)
	for n := first; ; n++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n)))
		if errors.Is(err, syscall.EADDRINUSE) && n < first+tries && n < 65535 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: choose another address with --listen", err)
		}
		if n != first {
			fmt.Fprintf(p.stdout, "Port %d is taken, so the demo uses %d.\n\n", first, n)
		}
		return l, nil
	}
}

// demoConfig writes a configuration that other commands can be given too. The
// environment has no say: it is of another server.
func demoConfig(dir string, l net.Listener) (*config.Config, error) {
	path := filepath.Join(dir, demoConfigFile)
	text := fmt.Sprintf("BASE_URL: http://%s\nLISTEN: %q\nDATABASE_URL: %q\n", local(l), l.Addr(), "sqlite:///"+filepath.Join(dir, "demo.db"))
	err := os.WriteFile(path, []byte(text+demoSettings), 0o600)
	if err != nil {
		return nil, err
	}
	return config.Load(path, nil)
}
