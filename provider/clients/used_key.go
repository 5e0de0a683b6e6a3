package clients

import (
	"sync"

	"mandate/provider/oauth"
	"mandate/storage"
)

// keyUses holds when keys were used, until StoreUses stores it.
type keyUses struct {
	uses[storage.KeyUse]
	noting sync.Mutex
	noted  map[storage.KeyUse]int64 // when a use was last added, so that not each one is stored
}

const maxKeyID = 255 // bytes; the use of a key with a longer ID is not noted

// usedKey notes that an application has authenticated with a key. One use in each UseInterval
// is stored, together with others, so that a request has no write more.
func (p *Clients) usedKey(a storage.Application, kid string) {
	if a.ID == "" || len(kid) > maxKeyID || !oauth.PlainText(kid) {
		return // "": its document is not stored before the first approval
	}
	p.keyUses.note(storage.KeyUse{ApplicationID: a.ID, KeyID: kid}, oauth.Now())
}

func (u *keyUses) note(key storage.KeyUse, at int64) {
	u.noting.Lock()
	defer u.noting.Unlock()
	if at-u.noted[key] < UseInterval {
		return
	}
	if u.noted == nil || len(u.noted) >= maxUses {
		u.noted = map[storage.KeyUse]int64{}
	}
	u.noted[key] = at
	u.add(key, at)
}
