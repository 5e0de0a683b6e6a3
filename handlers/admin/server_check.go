package admin

import (
	"context"
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/checkup"
	"mandate/templates"
)

const serverCheckPath = "/admin/server-check/"

// serverCheck shows administrators what mandate doctor finds. It calls nothing that a request names.
func (s *server) serverCheck(w http.ResponseWriter, r *http.Request) error {
	_, err := s.Administrator(r)
	if err != nil {
		return err
	}
	found, at, err := s.checked.findings(
		r.Context(),
		func(ctx context.Context) []checkup.Finding { return s.Provider.Checkup(ctx, s.Config.Known...) },
	)
	if err != nil {
		return err
	}
	page := templates.ServerCheck{Frame: s.Frame(r, ""), At: web.Moment(at.Unix())}
	for _, f := range found {
		row := templates.CheckRow{Weight: string(f.Weight), Check: f.Check, About: f.About, Text: f.Text, Remedy: f.Remedy}
		if f.Weight == checkup.Fine {
			page.Fine = append(page.Fine, row)
			continue
		}
		page.Wrong = page.Wrong || f.Weight == checkup.Wrong
		page.Rows = append(page.Rows, row)
	}
	return s.Render(w, r, http.StatusOK, page)
}
