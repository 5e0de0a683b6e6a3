package provider

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ory/fosite"

	"mandate/storage"
)

// Provider decides. It reads requests and gives values or errors; it writes no
// response and, but for Run, starts nothing.
type Provider struct {
	config    Config
	store     *storage.Store
	log       *slog.Logger
	fosite    *fosite.Fosite
	passwords *passwords // of people at a page
	machine   *passwords // of requests by programs, which must not make people wait
	throttle  *throttle

	secrets sealer // client secrets that stay readable
	tickets sealer // what a consent page carries
	devices sealer // browsers that are known
	flashes sealer // what a page shows once
	setup   string // the first administrator's link

	deprecated sync.Map // applications whose password grant was warned of
}

// New makes a provider over an open, migrated store.
func New(ctx context.Context, config Config, store *storage.Store, log *slog.Logger) (*Provider, error) {
	if len(config.ServerKey) != 32 {
		return nil, errors.New("the server key must be 32 bytes")
	}
	p := &Provider{config: config, store: store, log: log, passwords: newPasswords(config), machine: newPasswords(config), throttle: &throttle{buckets: map[string]*bucket{}}}
	for purpose, into := range map[string]*sealer{"client-secret": &p.secrets, "ticket": &p.tickets, "device": &p.devices, "flash": &p.flashes} {
		sealed, err := newSealer(config.ServerKey, purpose)
		if err != nil {
			return nil, fmt.Errorf("derive the %s key: %w", purpose, err)
		}
		*into = sealed
	}
	// The link is good for this database alone.
	salt, err := store.AddSetting(ctx, "setup_salt", random(16))
	if err != nil {
		return nil, fmt.Errorf("read the setup link's salt: %w", err)
	}
	p.setup, err = derive(config.ServerKey, "first-administrator/"+salt)
	if err != nil {
		return nil, err
	}
	err = p.checkServerKey(ctx)
	if err != nil {
		return nil, err
	}
	p.fosite = newFosite(p)
	return p, nil
}

// checkServerKey notices at the start, and not at somebody's login, that the
// database was sealed under another key.
func (p *Provider) checkServerKey(ctx context.Context) error {
	mark, err := derive(p.config.ServerKey, "fingerprint")
	if err != nil {
		return err
	}
	stands, err := p.store.AddSetting(ctx, "server_key_fingerprint", mark)
	if err != nil {
		return fmt.Errorf("read the server key's fingerprint: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(stands), []byte(mark)) != 1 {
		return errors.New("the server key is not the one this database was made with, and what it sealed could not be read: set SECRET_KEY to the one that all nodes share")
	}
	return nil
}

// Run removes what has expired until ctx ends: small batches all the time, so
// that the tables stay as large as what is alive.
func (p *Provider) Run(ctx context.Context) {
	interval, batch := p.config.SweepInterval, p.config.SweepBatch
	if interval <= 0 || batch <= 0 {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for {
			n, err := p.store.Sweep(ctx, now(), batch)
			if err != nil && ctx.Err() == nil {
				p.log.Warn("clean-up failed", "error", err)
			}
			if err != nil || n < int64(batch) {
				break
			}
		}
	}
}

func now() int64 { return time.Now().Unix() }

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func derive(key []byte, purpose string) (string, error) {
	s, err := hkdfKey(key, purpose)
	if err != nil {
		return "", fmt.Errorf("derive the %s key: %w", purpose, err)
	}
	return digest(string(s)), nil
}
