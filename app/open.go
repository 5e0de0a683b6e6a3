// Package app composes a server of its settings: it opens the database, connects the parts, and runs them. It keeps
// nothing for the process, so that several servers can be in one.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"mandate/app/config"
	"mandate/app/eventlog"
	"mandate/app/telemetry"
	"mandate/provider"
	"mandate/provider/events"
	"mandate/provider/outbound"
	"mandate/storage"
	"mandate/templates/languages"
)

// Purpose says what Open may do to make a database usable.
type Purpose int

const (
	ToUse     Purpose = iota // it must exist: a second database in another folder would hide the server's
	ToMigrate                // an embedded one is created if it does not exist, and its schema is updated
)

// Extras is what the settings do not say.
type Extras struct {
	Tracing   *telemetry.Tracing // nil: tracing is off
	Documents *outbound.Peer     // nil: there is none
	Stdout    io.Writer          // for EVENT_LOG: stdout; nil: a command, whose output it would spoil
}

// Open makes the parts of the settings. It starts nothing. The caller closes them.
func Open(ctx context.Context, settings *config.Config, may Purpose, more Extras, log *slog.Logger) (*App, error) {
	store, err := OpenStore(ctx, settings, may)
	if err != nil {
		return nil, err
	}
	a := &App{Settings: settings, Store: store, tracing: more.Tracing, log: log}
	a.writeEvents(more.Stdout)
	err = a.prepare(ctx, may, more.Documents)
	if err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close closes the database, and then the event log: nothing is stored any more.
func (a *App) Close() {
	a.Store.Close()
	if a.events != nil {
		a.events.Close()
	}
}

// writeEvents writes the events that this process stores to EVENT_LOG. A command writes each at once, because it
// ends soon.
func (a *App) writeEvents(stdout io.Writer) {
	switch to := a.Settings.EventLog; {
	case to == "off", to == "stdout" && stdout == nil:
		return
	case to == "stdout":
		a.events = eventlog.ToStream(stdout, a.log)
	default:
		a.events = eventlog.ToFile(to, a.log)
		if stdout == nil {
			a.events.AtOnce()
		}
	}
	a.Store.OnEvents(func(stored []storage.Event) {
		for _, e := range stored {
			a.events.Write(append(events.JSON(e), '\n'))
		}
	})
}

func (a *App) prepare(ctx context.Context, may Purpose, documents *outbound.Peer) error {
	err := a.bringUpToDate(ctx, may)
	if err != nil {
		return err
	}
	key, err := serverKey(ctx, a.Settings, a.Store)
	if err != nil {
		return err
	}
	c := a.traceCalls(providerConfig(a.Settings, key))
	c.ClientAuthorities, err = clientAuthorities(a.Settings)
	if err != nil {
		return err
	}
	c.DocumentHost = documents
	a.brand, err = brandOf(a.Settings)
	if err != nil {
		return err
	}
	c.Letters, err = newLetters(a.brand)
	if err != nil {
		return err
	}
	c.People.Name = a.Settings.Brand.Name
	c.People.Languages = languages.Tags()
	a.Provider, err = provider.New(ctx, c, a.Store, a.log)
	return err
}

// OpenStore opens the configured database alone.
func OpenStore(ctx context.Context, settings *config.Config, may Purpose) (*storage.Store, error) {
	file := settings.SQLitePath()
	if file != "" {
		err := provideFile(file, may)
		if err != nil {
			return nil, err
		}
	}
	store, err := settings.Database.Open(ctx)
	if err != nil {
		if advice := openAdvice(file, err); advice != "" {
			err = fmt.Errorf("%w: %s", err, advice)
		}
		return nil, err
	}
	return store, nil
}

// openAdvice says what to check if a database cannot be opened, or "" if the error says it.
func openAdvice(file string, err error) string {
	switch {
	case errors.Is(err, storage.ErrParameter):
		return ""
	case errors.Is(err, storage.ErrPooler):
		return "the server would answer with the records of others"
	case file != "" && isMissing(filepath.Dir(file)):
		return "the folder " + filepath.Dir(absolute(file)) + " does not exist: create it, or change DATABASE_URL"
	case file != "" && strings.Contains(err.Error(), "file is not a database"):
		return "the file is not an SQLite database: change DATABASE_URL, or move the file away: " + absolute(file)
	case file != "":
		return "check that DATABASE_URL names an SQLite file that this account can read and write, in a folder where it " +
			"can write: " + absolute(file)
	case strings.Contains(err.Error(), "SSL is not enabled"):
		return "add ?sslmode=disable to DATABASE_URL if the database is on this machine, or enable TLS in the database"
	}
	return "check DATABASE_URL, and that the database is running"
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}

// provideFile creates an empty database file that only this account can read.
// SQLite itself would create one that every account can read.
func provideFile(path string, may Purpose) error {
	if may == ToUse {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf(
				"there is no database at %s: check DATABASE_URL and --config. For a new one, start the server or run mandate "+
					"migrate",
				absolute(path),
			)
		}
		return err
	}
	if isMissing(path) && !isMissing(keyFile(path)) {
		// An empty server would print a link that makes whoever opens it the administrator.
		return fmt.Errorf(
			"there is no database at %s, but its server key %s exists: restore the database from a backup, or check "+
				"DATABASE_URL, or move the key away to begin with an empty database",
			absolute(path), absolute(keyFile(path)),
		)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the database: %w: %s", err, openAdvice(path, err))
	}
	return file.Close()
}

// bringUpToDate migrates an embedded database for the server, which is its only
// user. Other databases may serve nodes of
// another release: the operator decides when their schema changes.
func (a *App) bringUpToDate(ctx context.Context, may Purpose) error {
	pending, err := a.Store.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if len(pending) == 0 {
		return nil
	}
	if !a.Store.Embedded() || may == ToUse {
		return errors.New("the database's schema is older than this program: run mandate migrate")
	}
	steps, err := a.Store.Migrate(ctx)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	for _, step := range steps {
		for _, note := range step.Notes {
			a.log.Warn("the database was migrated: "+note, "migration", step.Name)
		}
	}
	return nil
}

// providerConfig returns the settings of the components of the provider.
func providerConfig(c *config.Config, key []byte) provider.Config {
	p := c.Provider
	hashing := c.Hashing
	hashing.Concurrency = cmp.Or(hashing.Concurrency, hashesWithin(MemoryOf(os.DirFS("/")), int(hashing.MemoryKiB)))
	return provider.Config{
		Issuer:             c.BaseURL + "/o",
		ServerKey:          key,
		Settings:           p.Settings,
		Tokens:             p.Tokens,
		Resources:          p.Resources,
		Open:               p.Open,
		Registration:       p.Registration,
		Authorize:          p.Authorize,
		Device:             p.Device,
		Proofs:             p.Proofs,
		Grant:              p.Grant,
		Redirects:          p.Redirects,
		Keys:               p.Keys,
		Outbound:           c.Outbound,
		People:             c.People,
		Notices:            c.Notices,
		Hashing:            hashing,
		Mail:               c.Mail,
		Logout:             p.Logout,
		ClientCertificates: c.MTLSListen != "" || c.MTLSCertificateHeader != "",
		CertificateURL:     c.MTLSBaseURL,
		EventRetention:     c.EventRetention,
		SweepInterval:      c.CleanupInterval,
		MaxStaleness:       c.MaxStaleness,
		SweepBatch:         p.ClearExpiredTokensBatchSize,
	}
}
