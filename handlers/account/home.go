package account

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mandate/handlers/web"
	"mandate/provider/authority"
	"mandate/provider/launcher"
	"mandate/storage"
	"mandate/templates"
)

// home shows the start page: what the person can open. Administrators, and people who have registered an application,
// have more to do here.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	page := templates.Home{Frame: s.Frame(r, "")}
	if who == nil {
		// The heading replaces the notice, so the text appears once.
		page.SignedOut = s.Cookie(r, "notice") == web.SignedOut
		if page.SignedOut {
			page.Notice = ""
			page.Elsewhere = s.elsewhere(r)
		}
		page.Restricted = s.Provider.People.RestrictsRegistration()
		page.NoAccount, err = s.Provider.People.NoAccount(r.Context())
		if err != nil {
			return err
		}
		return s.Render(w, r, http.StatusOK, page)
	}
	err = s.tiles(r, who.User, &page)
	if err != nil {
		return err
	}
	page.Applications, err = s.Provider.OwnApplications(r.Context(), who.User)
	if err != nil {
		return err
	}
	page.Duties = page.Applications > 0 || who.User.Administrator
	if !page.Duties {
		return s.Render(w, r, http.StatusOK, page)
	}
	authorized, err := s.Provider.People.Authorized(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	sessions, err := s.Provider.People.Sessions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	page.AuthorizedApps, page.Sessions = len(authorized), len(sessions)
	return s.Render(w, r, http.StatusOK, page)
}

const (
	mostRecent = 6 // tiles of what was used last
	fewTiles   = 8 // so many need neither a search nor an order of their own
)

// tiles adds what a person can open to the start page. If there is much of it, the tiles that were used last stand
// apart, and the others are in the order of their names.
func (s *server) tiles(r *http.Request, u storage.User, page *templates.Home) error {
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	found, more, err := s.Provider.Launcher.Of(r.Context(), u, s.Language(r).Tag(), l.Search)
	if err != nil {
		return err
	}
	page.Query, page.Searches = l.Search, len(found) > fewTiles || l.Search != ""
	if more {
		page.Most = launcher.Most
	}
	for i, t := range found {
		tile := templates.Tile{Name: t.Name, URL: t.URL, Host: authority.Shown(t.URL), Letter: initial(t.Name)}
		if t.Logo != "" {
			tile.Logo = s.Path("/logo/") + t.Logo + "/"
		}
		if i < mostRecent && t.UsedAt > 0 && len(found) > fewTiles && l.Search == "" {
			page.Recent = append(page.Recent, tile)
		} else {
			page.Tiles = append(page.Tiles, tile)
		}
	}
	if l.Search == "" && len(page.Recent) > 0 {
		slices.SortStableFunc(page.Tiles, func(a, b templates.Tile) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		})
	}
	return nil
}

// initial returns the letter that stands for a name without a logo: its first letter or digit.
func initial(name string) string {
	at := strings.IndexFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if at < 0 {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(name[at:])
	return string(unicode.ToUpper(first))
}

// elsewhere returns the server at which a person who has just signed out here can sign out too.
func (s *server) elsewhere(r *http.Request) *templates.ServerButton {
	other, err := s.Provider.Identities.Server(s.Cookie(r, web.LeftCookie))
	if err != nil || !other.Logout {
		return nil
	}
	return &templates.ServerButton{Label: other.Label, Action: s.Path("/logout/with/" + other.Name + "/")}
}
