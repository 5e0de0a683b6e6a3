package protocol

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/device"
)

// deviceAuthorization is the device authorization endpoint (RFC 8628 §3.1).
func (s *server) deviceAuthorization(w http.ResponseWriter, r *http.Request) error {
	from := s.Browser(r)
	codes, application, err := s.Provider.Devices.Authorize(r.Context(), r, device.Origin{
		Address:   from.Address,
		UserAgent: from.UserAgent,
	})
	if application != nil {
		request.Note(r.Context(), "client", application.ClientID)
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), web.LeftOut, codes.LeftOut.String())
	request.Outcome(r.Context(), "ok")
	return web.WriteJSON(w, http.StatusOK, codes)
}
