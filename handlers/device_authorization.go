package handlers

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/provider/device"
)

// deviceAuthorization is the device authorization endpoint (RFC 8628 §3.1).
func (s *server) deviceAuthorization(w http.ResponseWriter, r *http.Request) error {
	from := s.browser(r)
	codes, application, err := s.provider.Devices.Authorize(r.Context(), r, device.Origin{
		Address:   from.Address,
		UserAgent: from.UserAgent,
	})
	if application != nil {
		request.Note(r.Context(), "client", application.ClientID)
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), leftOut, codes.LeftOut.String())
	request.Outcome(r.Context(), "ok")
	return writeJSON(w, http.StatusOK, codes)
}
