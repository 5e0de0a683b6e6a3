package signin

import (
	"cmp"
	"net/http"
	"net/url"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// devicePage asks for the code that a device shows (RFC 8628 §3.3). A code in the address
// only fills the field: a link of a stranger neither approves anything nor uses one of the
// tries of the person.
func (s *flows) devicePage(w http.ResponseWriter, r *http.Request) error {
	_, err := s.Person(r)
	if err != nil {
		return err
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	page := s.deviceForm(r, values.Get("user_code"))
	page.Linked = page.Code.Value != ""
	return s.Render(w, r, http.StatusOK, page)
}

func (s *flows) deviceForm(r *http.Request, code string) templates.Device {
	code = oauth.Clip(code, 40)
	return templates.Device{
		Frame:     s.Frame(r, ""),
		Code:      templates.Field{Value: code},
		Action:    s.Path("/device/"),
		SwitchURL: s.switchURL(s.deviceAddress(code)),
	}
}

// deviceAddress is the path of the page for devices, with a code.
func (s *flows) deviceAddress(code string) string {
	if code == "" {
		return s.Path("/device/")
	}
	return s.Path("/device/") + "?user_code=" + url.QueryEscape(code)
}

// findDevice shows the request that has the typed code, and asks for the decision.
func (s *flows) findDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	q, err := s.Provider.Devices.Find(r.Context(), r.PostForm.Get("user_code"), who, s.Requests.Address(r))
	if err != nil {
		return s.wrongUserCode(w, r, err)
	}
	request.Note(r.Context(), "client", q.Application.ClientID)
	excluded, err := s.Provider.Devices.Excluded(r.Context(), q, who)
	if err != nil {
		return err
	}
	if excluded != nil {
		return s.Render(w, r, http.StatusForbidden, s.excluded(r, excluded, s.deviceAddress(q.UserCode)))
	}
	if missing := q.MissingACR(who); missing != "" {
		return s.ToStepUp(w, r, s.deviceAddress(q.UserCode), missing)
	}
	return s.Render(w, r, http.StatusOK, templates.DeviceApproval{
		Frame:     s.Frame(r, ""),
		Access:    s.access(s.Language(r), q.Application, q.Scopes, q.Audience, &authorize.Interaction{}),
		Code:      q.UserCode,
		Program:   web.Program(s.Language(r), q.From.UserAgent),
		Address:   q.From.Address,
		Near:      q.Near,
		Asked:     s.Language(r).Moment(q.CreatedAt),
		Ticket:    q.Ticket,
		Action:    s.Path("/device/answer/"),
		SwitchURL: s.switchURL(s.deviceAddress(q.UserCode)),
	})
}

// wrongUserCode shows the form again, with the error.
func (s *flows) wrongUserCode(w http.ResponseWriter, r *http.Request, err error) error {
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page := s.deviceForm(r, r.PostForm.Get("user_code"))
	page.Code.Error = cmp.Or(why.Limit, why.At("user_code"))
	return s.Render(w, r, why.Status, page)
}

// answerDevice handles the decision that the person made.
func (s *flows) answerDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	ticket, allowed := r.PostForm.Get("ticket"), false
	switch r.PostForm.Get("decision") {
	case "approve":
		var a storage.Application
		a, err = s.Provider.Devices.Approve(r.Context(), ticket, who)
		request.Note(r.Context(), "client", a.ClientID)
		allowed = true
	case "deny":
		err = s.Provider.Devices.Deny(r.Context(), ticket, who)
	default:
		err = web.BadRequest("Choose to approve or to deny.")
	}
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.DeviceAnswered{
		Frame:      s.Frame(r, ""),
		Allowed:    allowed,
		AccountURL: s.Path("/account/"),
	})
}

// toDevicePage redirects a reload of the answer, and a login that interrupted it.
func (s *flows) toDevicePage(w http.ResponseWriter, r *http.Request) error {
	web.SeeOther(w, r, s.Path("/device/"))
	return nil
}
