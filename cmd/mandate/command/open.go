package command

import (
	"context"
	"time"

	"mandate/app"
	"mandate/app/config"
	"mandate/provider"
	"mandate/storage"
)

// opened is what a command works with: the settings, the database and the provider.
type opened struct {
	settings *config.Config
	store    *storage.Store
	provider *provider.Provider
}

// open opens the configured database. The caller closes the store.
func (p *program) open(ctx context.Context, may app.Purpose) (*opened, error) {
	settings, err := config.Load(p.config, p.Environ)
	if err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, settings, may, app.Extras{}, settings.Logger(p.Stderr))
	if err != nil {
		return nil, err
	}
	return &opened{settings, a.Store, a.Provider}, nil
}

// timestamp formats a time so that people and scripts can read it.
func timestamp(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
