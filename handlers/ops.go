package handlers

import (
	"log/slog"
	"net/http"
)

type health struct {
	Status string `json:"status"`
}

// healthy says that this process answers.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) error {
	// Asked every few seconds, by a machine.
	recordOf(r.Context()).level = slog.LevelDebug
	return writeJSON(w, http.StatusOK, health{"ok"})
}

// ready says that it can do its work.
func (s *server) ready(w http.ResponseWriter, r *http.Request) error {
	recordOf(r.Context()).level = slog.LevelDebug
	err := s.provider.Ready(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, health{"ready"})
}
