package protocol

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/checkup"
)

// arrival answers a check of this server that asks how its request has arrived.
func (s *server) arrival(w http.ResponseWriter, r *http.Request) error {
	at := s.Requests.Arrival(r, checkup.ClaimedAddress)
	answer, err := s.Provider.AnswerArrival(r.Header.Get(checkup.QuestionHeader), checkup.Arrival(at))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.WriteJSON(w, http.StatusOK, map[string]string{"arrival": answer})
}
