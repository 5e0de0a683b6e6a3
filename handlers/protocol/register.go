package protocol

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/storage"
)

// registerClient is the registration endpoint (RFC 7591 §3, OIDC Registration §3).
func (s *server) registerClient(w http.ResponseWriter, r *http.Request) error {
	a, answer, err := s.Provider.Registrations.Register(r.Context(), r, s.Requests.Address(r))
	return writeClient(w, r, http.StatusCreated, a, answer, err)
}

// client is the client configuration endpoint (RFC 7592 §2, OIDC Registration §4).
func (s *server) client(w http.ResponseWriter, r *http.Request) error {
	id := registeredID(r)
	a, answer, err := s.Provider.Registrations.Read(r.Context(), r, id)
	return writeClient(w, r, http.StatusOK, a, answer, err)
}

// changeClient replaces the metadata of a client (RFC 7592 §2.2).
func (s *server) changeClient(w http.ResponseWriter, r *http.Request) error {
	id := registeredID(r)
	a, answer, err := s.Provider.Registrations.Change(r.Context(), r, id, s.Requests.Address(r))
	return writeClient(w, r, http.StatusOK, a, answer, err)
}

// deleteClient deletes a client (RFC 7592 §2.3).
func (s *server) deleteClient(w http.ResponseWriter, r *http.Request) error {
	id := registeredID(r)
	a, err := s.Provider.Registrations.End(r.Context(), r, id)
	noteClient(r, a)
	if err != nil {
		return err
	}
	request.Outcome(r.Context(), "ok")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// registeredID returns the client id of the path. A malformed one is that of no client.
func registeredID(r *http.Request) string {
	id, err := web.Variable(r, "id")
	if err != nil {
		return ""
	}
	return id
}

// writeClient writes the answer to a registrant.
func writeClient(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	a storage.Application,
	answer map[string]any,
	err error,
) error {
	noteClient(r, a)
	if err != nil {
		return err
	}
	request.Outcome(r.Context(), "ok")
	return web.WriteJSON(w, status, answer)
}

func noteClient(r *http.Request, a storage.Application) {
	if a.ClientID != "" {
		request.Note(r.Context(), "client", a.ClientID)
	}
}
