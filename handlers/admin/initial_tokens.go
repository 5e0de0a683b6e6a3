package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/registration"
	"mandate/storage"
	"mandate/templates"
)

// initialTokens lists the initial access tokens, and has a form that makes one. It is for
// administrators.
func (s *server) initialTokens(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = url.Values{
			"uses":    {"1"},
			"expires": {"86400"},
			"may":     {policy.GrantCode},
			"scopes":  s.Provider.Rules.Allowance(policy.StandingOpen).Scopes,
		}
	}
	page, err := s.initialTokensPage(r, who, form, nil)
	if err != nil {
		return err
	}
	s.SayKept(r, kept, &page.Frame)
	page.NewToken = s.TakeText(w, r, who, web.InitialTokensPath, "initial access token")
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) initialTokensPage(
	r *http.Request,
	who *storage.SignedIn,
	form url.Values,
	invalid *oauth.Invalid,
) (templates.InitialTokens, error) {
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page := templates.InitialTokens{
		Frame:        s.Frame(r, ""),
		Action:       s.Path(web.InitialTokensPath),
		RegisterURL:  s.Absolute("/o/register/"),
		Uses:         field("uses"),
		Resources:    field("resources"),
		MayError:     invalid.At("may"),
		ScopesError:  invalid.At("scopes"),
		ExpiresError: invalid.At("expires"),
		Errors:       web.FieldErrors(invalid),
		Expires: web.Checked(form["expires"], templates.Option{
			Value: "3600",
			Label: "In an hour",
		}, templates.Option{Value: "86400", Label: "In a day"},
			templates.Option{Value: "2592000", Label: "In 30 days"}, templates.Option{Value: "31536000", Label: "In a year"}),
	}
	introspection := templates.Option{
		Value: "introspection",
		Label: "Introspection",
		Help:  "A confidential application that asks for the scope “introspection” may introspect tokens.",
	}
	page.May = web.Checked(form["may"], append(web.GrantOptions(), introspection)...)
	page.Scopes = s.ScopeOptions(s.Provider.Scopes(), form["scopes"])
	found, err := s.Provider.Registrations.InitialTokens(r.Context(), policy.By(who.User))
	for _, i := range found {
		limits, broken := registration.ParseLimits(i.Limits)
		if broken != nil {
			return page, broken
		}
		row := templates.InitialTokenRow{
			ID:        i.ID,
			MadeBy:    "the operator",
			May:       strings.Join(registration.MayOf(limits), ", "),
			Scopes:    strings.Join(limits.Scopes, " "),
			UsesLeft:  i.UsesLeft,
			Until:     web.Moment(i.ExpiresAt),
			Works:     registration.UsableInitialToken(i),
			DeleteURL: s.Path(web.InitialTokensPath + i.ID + "/delete/"),
		}
		if i.Maker != nil {
			row.MadeBy = *i.Maker
		}
		page.Rows = append(page.Rows, row)
	}
	return page, err
}

// addInitialToken makes an initial access token. The administrator is responsible for the
// applications that are registered with it.
func (s *server) addInitialToken(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "may", "scopes")
	if err != nil {
		return err
	}
	form := r.PostForm
	said := registration.NewInitialToken{
		May:       web.Unique(form["may"]),
		Scopes:    web.Unique(form["scopes"]),
		Resources: web.Lines(form.Get("resources")),
		Lifetime:  time.Duration(web.Seconds(form.Get("expires"))) * time.Second,
	}
	said.Uses, err = strconv.ParseInt(strings.TrimSpace(form.Get("uses")), 10, 32)
	if err != nil {
		said.Uses = 0 // refused below
	}
	invalid := &oauth.Invalid{}
	if len(said.May) == 0 {
		web.ChooseOne(invalid, "may")
	}
	if len(form["scopes"]) == 0 {
		web.ChooseOne(invalid, "scopes")
	}
	var text string
	err = invalid.Err()
	if err == nil {
		var actor policy.Actor
		actor, err = s.Acting(r, who)
		if err == nil {
			_, text, err = s.Provider.Registrations.AddInitialToken(r.Context(), actor, said)
		}
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		page, err := s.initialTokensPage(r, who, form, invalid)
		if err != nil {
			return err
		}
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.KeepText(w, who, web.InitialTokensPath, "initial access token", text)
	web.SeeOther(w, r, s.Path(web.InitialTokensPath))
	return nil
}

func (s *server) deleteInitialTokenPage(w http.ResponseWriter, r *http.Request) error {
	_, id, err := s.Administers(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:     s.Frame(r, ""),
		Heading:   "Delete this initial access token?",
		Message:   "Nobody can register an application with it any more. The applications that were registered with it stay.",
		Action:    s.Path(web.InitialTokensPath + url.PathEscape(id) + "/delete/"),
		Button:    "Delete the token",
		CancelURL: s.Path(web.InitialTokensPath),
		Danger:    true,
	})
}

func (s *server) deleteInitialToken(w http.ResponseWriter, r *http.Request) error {
	who, id, err := s.Administers(r)
	if err != nil {
		return err
	}
	err = s.Provider.Registrations.DeleteInitialToken(r.Context(), policy.By(who.User), id)
	if err != nil {
		return err
	}
	s.SetNotice(w, "token-gone")
	web.SeeOther(w, r, s.Path(web.InitialTokensPath))
	return nil
}
