package clients

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/policy"
	"mandate/storage"
)

// named finds the application of the path. It returns an error if the person may not
// change it.
func (s *server) named(r *http.Request) (*storage.SignedIn, storage.Application, error) {
	return s.found(r, s.Provider.Clients.Application)
}

// seen finds the application of the path for its page, which auditors see too.
func (s *server) seen(r *http.Request) (*storage.SignedIn, storage.Application, error) {
	return s.found(r, s.Provider.Clients.Shown)
}

// found finds the application of the path, as the person of the session may find it.
func (s *server) found(
	r *http.Request,
	find func(context.Context, policy.Actor, string) (storage.Application, error),
) (*storage.SignedIn, storage.Application, error) {
	who, err := s.Entitled(r)
	if err != nil {
		return nil, storage.Application{}, err
	}
	id, err := web.Variable(r, "id")
	if err != nil {
		return nil, storage.Application{}, err
	}
	a, err := find(r.Context(), policy.By(who.User), id)
	return who, a, err
}

func typeName(a storage.Application) string {
	if a.ClientType == policy.Public {
		return "Public"
	}
	return "Confidential"
}

func grantNames(a storage.Application) string {
	names := strings.Fields(a.GrantTypes)
	for i, name := range names {
		names[i] = grantName(name)
	}
	return strings.Join(names, ", ")
}

func grantName(grant string) string {
	known, _ := policy.GrantOf(grant)
	return cmp.Or(known.Label, grant)
}

func owner(a storage.Application) string {
	if a.Owner == nil {
		return ""
	}
	return *a.Owner
}

// ownerText says who owns an application, also if it is no person.
func ownerText(a storage.Application) string {
	if a.Owner == nil && policy.StandingOf(a) == policy.StandingAdministrator {
		return "The operator"
	}
	return cmp.Or(owner(a), "Nobody")
}
