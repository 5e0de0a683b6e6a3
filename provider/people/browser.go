package people

import (
	"encoding/json"
	"fmt"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// KnownFor is how long a browser is known after its person has last signed in with it.
const KnownFor = 180 * 24 * time.Hour

// mark says which person has signed in with a browser. It is in a cookie of that browser, and somebody else may have a
// copy of it. So it ends: after a while, and with each change after which a stolen password or session must be useless.
type mark struct {
	User       string
	Generation int64
	At         int64
}

const markPurpose = "known browser"

// mark returns the cookie of a browser with which a person signs in now.
func (p *People) mark(u storage.User) (string, error) {
	text, err := json.Marshal(mark{u.ID, u.Generation, oauth.Now()})
	return p.devices.Seal(text, markPurpose), err
}

// marked reports whether a cookie marks any browser as known at this time.
func (p *People) marked(cookie string) (mark, bool) {
	var m mark
	text, err := p.devices.Open(cookie, markPurpose)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err == nil && oauth.Now()-m.At < oauth.Seconds(KnownFor)
}

// at returns the tries that something at one of the places of limits uses: those of the network, or, in a browser in
// which somebody has signed in before, those of the browser and of all such browsers of that person. So what neighbours
// do keeps nobody out of a known browser. Each generation has its own: whoever has the cookie of a browser that is not
// known any more uses up nothing of those that are.
func (p *People) at(where string, b Browser) []throttle.Try {
	m, ok := p.marked(b.Device)
	if !ok {
		return []throttle.Try{limits.At(where, b.Address)}
	}
	all := fmt.Sprint(where, "devices ", m.User, " ", m.Generation)
	return []throttle.Try{
		{Kind: limits.OfBrowser, Key: all + " " + seal.Digest(b.Device), Wide: all},
		{Kind: limits.OfAccount, Key: all, Wide: all},
	}
}

// knows reports whether a person has signed in with this browser before.
func (p *People) knows(b Browser, u storage.User) bool {
	m, ok := p.marked(b.Device)
	return ok && m.User == u.ID && m.Generation == u.Generation
}
