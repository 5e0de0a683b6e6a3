package handlers

import (
	"net/http"

	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// sessionList lists the sessions of a person, each with the path that ends it.
func (s *server) sessionList(
	r *http.Request,
	l *languages.Language,
	who *storage.SignedIn,
	u storage.User,
	path string,
) (templates.SessionList, error) {
	list := templates.SessionList{EndAllAction: s.path(path + "end/")}
	sessions, err := s.provider.People.Sessions(r.Context(), u.ID)
	for _, session := range sessions {
		row := templates.SessionRow{
			Device:   deviceName(l, session.UserAgent),
			Address:  session.Address,
			Since:    l.Moment(session.AuthTime),
			LastSeen: l.Moment(session.SeenAt),
		}
		if session.ID == who.Session.ID {
			// The person ends this session by logging out.
			row.Current = true
		} else {
			row.EndAction = s.path(path + session.ID + "/end/")
		}
		list.Rows = append(list.Rows, row)
	}
	return list, err
}
