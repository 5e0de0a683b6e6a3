// Package launcher lists what a person can open: the applications that they may use.
package launcher

import (
	"context"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Most is the largest number of tiles on one page. People who have more find them by their name.
const Most = 240

// Launcher lists what people can open.
type Launcher struct {
	rules   *policy.Rules
	store   storage.Launches
	clients *clients.Clients
}

// New makes the component.
func New(rules *policy.Rules, store *storage.Store, c *clients.Clients) *Launcher {
	return &Launcher{rules, storage.Launches{Store: store}, c}
}

// Tile is something that a person can open.
type Tile struct {
	Name, URL string
	Logo      string // the name of its logo; empty: it has none
	UsedAt    int64  // when the person has last signed in there; 0: never, or it is not known
}

// Of returns what a person can open, and whether there is more. The last used tiles are first. A search selects by
// name and address. Names are in a language.
func (l *Launcher) Of(ctx context.Context, u storage.User, language, search string) ([]Tile, bool, error) {
	found, err := l.store.Of(ctx, u.ID, search, oauth.Now(), Most+1)
	if err != nil {
		return nil, false, oauth.Unavailable(err)
	}
	more := len(found) > Most
	var tiles []Tile
	for _, a := range found[:min(len(found), Most)] {
		at := clients.LaunchOf(a.Application, language)
		if at == "" || l.rules.WhySuspended(a.Application) != "" {
			continue
		}
		tiles = append(tiles, Tile{
			Name:   clients.NameIn(a.Application, language),
			URL:    at,
			Logo:   l.clients.LogoName(a.Application),
			UsedAt: a.UsedAt,
		})
	}
	return tiles, more, nil
}
