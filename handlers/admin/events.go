package admin

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/spreadsheet"
	"mandate/storage"
	"mandate/templates"
)

// The fields by which the event log is filtered.
const (
	byPerson  = "person"
	byActor   = "by"
	byAddress = "address"
	bySince   = "since"
	byUntil   = "until"
)

// eventFilter reads the filters of the event log. It returns an Invalid for those that select nothing because there is
// no such kind, person and so on.
func (s *server) eventFilter(ctx context.Context, form url.Values) (events.Filter, error) {
	of := events.Filter{
		Kind:     form.Get(web.ByKind),
		ObjectID: strings.TrimSpace(form.Get(web.ByObject)),
		Address:  strings.TrimSpace(form.Get(byAddress)),
	}
	invalid := &oauth.Invalid{}
	if of.Kind != "" && !events.Known(of.Kind) {
		invalid.Add(web.ByKind, "There is no such kind of events. Choose one of the list.")
	}
	if of.Address != "" && !events.IsNetwork(of.Address) {
		invalid.Add(byAddress, "This is not a network address, such as 192.0.2.7 or 2001:db8::/64.")
	}
	of.Since, of.Until = dayIn(form, bySince, 0, invalid), dayIn(form, byUntil, 1, invalid)
	if of.Since > 0 && of.Until > 0 && of.Until <= of.Since {
		invalid.Add(byUntil, "Choose the day of Since, or a later one.")
	}
	var err error
	of.PersonID, err = s.Provider.People.PersonInEvents(ctx, strings.TrimSpace(form.Get(byPerson)))
	if errors.Is(err, oauth.ErrNotFound) {
		invalid.Add(byPerson, "There is no person with this username, and no event with this subject.")
		err = nil
	}
	if err == nil {
		of.ActorID, err = s.Provider.People.ActorInEvents(ctx, strings.TrimSpace(form.Get(byActor)))
	}
	if errors.Is(err, oauth.ErrNotFound) {
		invalid.Add(
			byActor, "There is no person with this username, no application with this client ID, and no event with this ID.",
		)
		err = nil
	}
	if err == nil {
		err = invalid.Err()
	}
	return of, err
}

// dayIn returns the beginning of a day, or of one of the days after it. It returns 0 if the field is empty.
func dayIn(form url.Values, field string, later int, invalid *oauth.Invalid) int64 {
	text := form.Get(field)
	if text == "" {
		return 0
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		invalid.Add(field, "Write a date, such as 2026-11-30.")
		form.Del(field) // the field of the page takes nothing else
		return 0
	}
	return max(1, day.AddDate(0, 0, later).Unix()) // 0 would be no limit
}

// eventsForm returns the page with its filters as they were sent, and without events.
func (s *server) eventsForm(r *http.Request, values url.Values) templates.Events {
	page := templates.Events{
		Frame:        s.Frame(r, ""),
		Action:       s.Path(web.EventsPath),
		ExportAction: s.Path(web.EventsPath + "export/"),
		Most:         mostExported,
		Person:       values.Get(byPerson),
		By:           values.Get(byActor),
		Object:       values.Get(web.ByObject),
		Address:      values.Get(byAddress),
		Since:        values.Get(bySince),
		Until:        values.Get(byUntil),
	}
	page.Kinds = []templates.Option{{Label: "All"}}
	for _, d := range events.Kinds() {
		page.Kinds = append(page.Kinds, templates.Option{Value: string(d.Kind), Label: strings.TrimSuffix(d.Meaning, ".")})
	}
	page.Kinds = web.Checked([]string{values.Get(web.ByKind)}, page.Kinds...)
	return page
}

// correctFilter shows which filters are wrong. It returns every other error.
func (s *server) correctFilter(w http.ResponseWriter, r *http.Request, values url.Values, err error) error {
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page := s.eventsForm(r, values)
	page.Errors = web.FieldErrors(why.Invalid)
	return s.Render(w, r, why.Status, page)
}

// events shows the event log. It is for administrators.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	of, err := s.eventFilter(r.Context(), values)
	if err != nil {
		return s.correctFilter(w, r, values, err)
	}
	if before := values.Get("before"); before != "" {
		at, id, _ := strings.Cut(before, "-")
		of.BeforeAt, err = strconv.ParseInt(at, 10, 64)
		if err != nil || of.BeforeAt < 1 {
			return web.BadRequest("before must be that of a link of this page.")
		}
		of.BeforeID = id
	}
	found, err := s.Provider.Events.List(r.Context(), policy.By(who.User), of, web.PageSize+1)
	if err != nil {
		return err
	}
	page := s.eventsForm(r, values)
	kept := url.Values{}
	for _, field := range []string{web.ByKind, byPerson, byActor, web.ByObject, byAddress, bySince, byUntil} {
		if values.Get(field) != "" {
			kept.Set(field, values.Get(field))
			page.Filtered = true
		}
	}
	if of.BeforeAt > 0 {
		page.NewestURL = "?" + kept.Encode()
	}
	if len(found) > web.PageSize {
		found = found[:web.PageSize]
		last := found[web.PageSize-1]
		kept.Set("before", strconv.FormatInt(last.At, 10)+"-"+last.ID)
		page.OlderURL = "?" + kept.Encode()
	}
	for _, e := range found {
		row := eventRow(e)
		if e.UserAgent != "" {
			row.Browser = web.DeviceName(s.Pages.Languages.English(), e.UserAgent)
		}
		page.Rows = append(page.Rows, row)
	}
	return s.Render(w, r, http.StatusOK, page)
}

// eventRow describes an event for an administrator.
func eventRow(e storage.Event) templates.EventRow {
	row := templates.EventRow{
		At:      exactly(e.At),
		Kind:    e.Kind,
		Meaning: meaningOf(e.Kind),
		Detail:  e.Detail,
		Address: e.Address,
		Count:   e.Times,
		Actor:   events.Actor(e),
		Person:  cmp.Or(e.PersonName, e.PersonID),
		Object:  strings.TrimSpace(objectKinds[e.ObjectKind] + " " + cmp.Or(e.ObjectName, e.ObjectID)),
	}
	if e.Times > 1 {
		row.Since = exactly(e.Since)
	}
	for _, link := range []struct {
		into         *string
		field, value string
	}{
		{&row.ActorURL, byActor, e.ActorID},
		{&row.PersonURL, byPerson, e.PersonID},
		{&row.ObjectURL, web.ByObject, e.ObjectID},
		{&row.AddressURL, byAddress, e.Address},
		{&row.KindURL, web.ByKind, e.Kind},
	} {
		if link.value != "" {
			*link.into = "?" + url.Values{link.field: {link.value}}.Encode()
		}
	}
	return row
}

// objectKinds are the words for the kinds of objects.
var objectKinds = map[string]string{
	"session":            "Session",
	"totp":               "Authenticator app",
	"passkey":            "Passkey",
	"account":            "Account of",
	"invitation":         "Invitation of",
	"group":              "Group",
	"registration-token": "Initial access token",
	"resource":           "Resource",
	"key":                "Key",
	"application":        "Application",
}

func meaningOf(kind string) string {
	for _, d := range events.Kinds() {
		if string(d.Kind) == kind {
			return d.Meaning
		}
	}
	return kind // another release has stored it
}

// exactly returns a time with its seconds.
func exactly(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05") }

func (s *server) toEvents(w http.ResponseWriter, r *http.Request) error {
	web.SeeOther(w, r, s.Path(web.EventsPath))
	return nil
}

const (
	mostExported = 100_000
	exportStep   = 1_000
)

// exportEvents sends the event log as CSV, the newest events first. That somebody exports it is an event.
func (s *server) exportEvents(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	of, err := s.eventFilter(r.Context(), r.PostForm)
	if err != nil {
		return s.correctFilter(w, r, r.PostForm, err)
	}
	err = s.Provider.Events.Export(r.Context(), policy.By(who.User), of)
	if err != nil {
		return err
	}
	found, err := s.Provider.Events.List(r.Context(), policy.By(who.User), of, exportStep)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="events-`+time.Now().UTC().Format(time.DateOnly)+`.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"time",
		"kind",
		"actor",
		"actor_kind",
		"actor_id",
		"actor_name",
		"address",
		"user_agent",
		"person_id",
		"person_name",
		"object_kind",
		"object_id",
		"object_name",
		"detail",
		"count",
		"since",
		"id",
	})
	for n := 0; len(found) > 0; {
		for _, e := range found {
			_ = out.Write(spreadsheet.Cells(
				time.Unix(e.At, 0).UTC().Format(time.RFC3339), e.Kind, events.Actor(e), e.ActorKind, e.ActorID, e.ActorName,
				e.Address, e.UserAgent, e.PersonID, e.PersonName, e.ObjectKind, e.ObjectID, e.ObjectName, e.Detail,
				strconv.FormatInt(e.Times, 10), time.Unix(e.Since, 0).UTC().Format(time.RFC3339), e.ID,
			))
		}
		out.Flush()
		n += len(found)
		if len(found) < exportStep || n >= mostExported {
			break
		}
		of.BeforeAt, of.BeforeID = found[len(found)-1].At, found[len(found)-1].ID
		found, err = s.Provider.Events.List(r.Context(), policy.By(who.User), of, exportStep)
		if err != nil {
			// A part is sent already. Nobody may take it for the whole.
			request.Note(r.Context(), "error", err.Error())
			panic(http.ErrAbortHandler)
		}
	}
	out.Flush()
	return nil // an error of the writer means that the client has disconnected
}
