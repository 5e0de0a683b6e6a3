package target

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"mandate/conformance/need"
)

// Kept are the clients that a run with Reuse has registered, in a file beside the target file.
type Kept struct {
	path string
	file Target // the issuer and the clients
}

// LoadKept reads the clients that earlier runs have registered for the target at a path, and adds them to the target.
// A client that the target itself names counts.
func (t *Target) LoadKept(path string) (*Kept, error) {
	extension := filepath.Ext(path)
	k := &Kept{path: strings.TrimSuffix(path, extension) + ".clients" + extension}
	k.file.Issuer, k.file.Clients = t.Issuer, map[need.Need]*Client{}
	file, err := Load(k.path)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	if file.Issuer != t.Issuer {
		return nil, fmt.Errorf("%s: these clients are of %s, and the target is of %s: remove the file, or name another "+
			"target file",
			k.path, file.Issuer, t.Issuer)
	}
	maps.Copy(k.file.Clients, file.Clients)
	if t.Clients == nil {
		t.Clients = map[need.Need]*Client{}
	}
	for role, c := range file.Clients {
		if t.Clients[role] == nil {
			t.Clients[role] = c
		}
	}
	return k, nil
}

// Add writes further clients to the file, which only its owner can read.
func (k *Kept) Add(clients []*Client) error {
	if len(clients) == 0 {
		return nil
	}
	for _, c := range clients {
		kept := *c
		if kept.Credential() != "secret" {
			kept.Secret = "" // some servers make one for every client
		}
		k.file.Clients[c.Role] = &kept
	}
	// A file that is written halfway would lose clients.
	next := k.path + ".new"
	err := k.file.Write(next)
	if err == nil {
		err = os.Rename(next, k.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the clients for the next run: %w", err), os.Remove(next))
	}
	return nil
}
