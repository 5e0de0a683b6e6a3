package handlers

import (
	"cmp"
	"net/http"
	"net/url"

	"mandate/handlers/request"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// devicePage asks for the code that a device shows (RFC 8628 §3.3). A code in the address
// only fills the field: a link of a stranger neither approves anything nor uses one of the
// tries of the person.
func (s *server) devicePage(w http.ResponseWriter, r *http.Request) error {
	_, err := s.person(r)
	if err != nil {
		return err
	}
	values, err := query(r)
	if err != nil {
		return err
	}
	page := s.deviceForm(r, values.Get("user_code"))
	page.Linked = page.Code.Value != ""
	return s.render(w, r, http.StatusOK, page)
}

func (s *server) deviceForm(r *http.Request, code string) templates.Device {
	code = oauth.Clip(code, 40)
	return templates.Device{
		Frame:     s.frame(r, ""),
		Code:      templates.Field{Value: code},
		Action:    s.path("/device/"),
		SwitchURL: s.switchURL(s.deviceAddress(code)),
	}
}

// deviceAddress is the path of the page for devices, with a code.
func (s *server) deviceAddress(code string) string {
	if code == "" {
		return s.path("/device/")
	}
	return s.path("/device/") + "?user_code=" + url.QueryEscape(code)
}

// findDevice shows the request that has the typed code, and asks for the decision.
func (s *server) findDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	q, err := s.provider.Devices.Find(r.Context(), r.PostForm.Get("user_code"), who, s.requests.Address(r))
	if err != nil {
		return s.wrongUserCode(w, r, err)
	}
	request.Note(r.Context(), "client", q.Application.ClientID)
	if missing := q.MissingACR(who); missing != "" {
		return s.toStepUp(w, r, s.deviceAddress(q.UserCode), missing)
	}
	return s.render(w, r, http.StatusOK, templates.DeviceApproval{
		Frame:     s.frame(r, ""),
		Access:    s.access(s.language(r), q.Application, q.Scopes, q.Audience, &authorize.Interaction{}),
		Code:      q.UserCode,
		Program:   program(s.language(r), q.From.UserAgent),
		Address:   q.From.Address,
		Near:      q.Near,
		Asked:     s.language(r).Moment(q.CreatedAt),
		Ticket:    q.Ticket,
		Action:    s.path("/device/answer/"),
		SwitchURL: s.switchURL(s.deviceAddress(q.UserCode)),
	})
}

// wrongUserCode shows the form again, with the error.
func (s *server) wrongUserCode(w http.ResponseWriter, r *http.Request, err error) error {
	why, err := s.refused(w, r, err)
	if err != nil {
		return err
	}
	page := s.deviceForm(r, r.PostForm.Get("user_code"))
	page.Code.Error = cmp.Or(why.limit, why.at("user_code"))
	return s.render(w, r, why.status, page)
}

// answerDevice handles the decision that the person made.
func (s *server) answerDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	ticket, allowed := r.PostForm.Get("ticket"), false
	switch r.PostForm.Get("decision") {
	case "approve":
		var a storage.Application
		a, err = s.provider.Devices.Approve(r.Context(), ticket, who)
		request.Note(r.Context(), "client", a.ClientID)
		allowed = true
	case "deny":
		err = s.provider.Devices.Deny(r.Context(), ticket, who)
	default:
		err = badRequest("Choose to approve or to deny.")
	}
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, templates.DeviceAnswered{
		Frame:      s.frame(r, ""),
		Allowed:    allowed,
		AccountURL: s.path("/account/"),
	})
}

// toDevicePage redirects a reload of the answer, and a login that interrupted it.
func (s *server) toDevicePage(w http.ResponseWriter, r *http.Request) error {
	seeOther(w, r, s.path("/device/"))
	return nil
}
