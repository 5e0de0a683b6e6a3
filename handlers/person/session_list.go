package person

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// SessionList lists the sessions of a person, each with the path that ends it.
func (s *Shown) SessionList(
	r *http.Request,
	l *languages.Language,
	who *storage.SignedIn,
	u storage.User,
	path string,
) (templates.SessionList, error) {
	list := templates.SessionList{EndAllAction: s.Path(path + "end/")}
	sessions, err := s.Provider.People.Sessions(r.Context(), u.ID)
	for _, session := range sessions {
		row := templates.SessionRow{
			Device:   web.DeviceName(l, session.UserAgent),
			Address:  session.Address,
			Since:    l.Moment(session.AuthTime),
			LastSeen: l.Moment(session.SeenAt),
		}
		if session.ID == who.Session.ID {
			// The person ends this session by logging out.
			row.Current = true
		} else {
			row.EndAction = s.Path(path + session.ID + "/end/")
		}
		list.Rows = append(list.Rows, row)
	}
	return list, err
}
