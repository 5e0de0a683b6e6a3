package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/registration"
	"mandate/storage"
	"mandate/templates"
)

// initialTokens lists the initial access tokens, and has a form that makes one. It is for
// administrators.
func (s *server) initialTokens(w http.ResponseWriter, r *http.Request) error {
	who, err := s.administrator(r)
	if err != nil {
		return err
	}
	form, err := s.keptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = url.Values{
			"uses":    {"1"},
			"expires": {"86400"},
			"may":     {policy.GrantCode},
			"scopes":  s.provider.Rules.Allowance(policy.StandingOpen).Scopes,
		}
	}
	page, err := s.initialTokensPage(r, who, form, nil)
	if err != nil {
		return err
	}
	s.sayKept(r, kept, &page.Frame)
	page.NewToken = s.takeText(w, r, who, initialTokensPath, "initial access token")
	return s.render(w, r, http.StatusOK, page)
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
		Frame:        s.frame(r, ""),
		Action:       s.path(initialTokensPath),
		RegisterURL:  s.absolute("/o/register/"),
		Uses:         field("uses"),
		Resources:    field("resources"),
		MayError:     invalid.At("may"),
		ScopesError:  invalid.At("scopes"),
		ExpiresError: invalid.At("expires"),
		Errors:       fieldErrors(invalid),
		Expires: checked(form["expires"], templates.Option{
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
	page.May = checked(form["may"], append(grantOptions(), introspection)...)
	page.Scopes = s.scopeOptions(s.provider.Scopes(), form["scopes"])
	found, err := s.provider.Registrations.InitialTokens(r.Context(), policy.By(who.User))
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
			Until:     moment(i.ExpiresAt),
			Works:     registration.UsableInitialToken(i),
			DeleteURL: s.path(initialTokensPath + i.ID + "/delete/"),
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
	who, err := s.administrator(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r, "may", "scopes")
	if err != nil {
		return err
	}
	form := r.PostForm
	said := registration.NewInitialToken{
		May:       unique(form["may"]),
		Scopes:    unique(form["scopes"]),
		Resources: lines(form.Get("resources")),
		Lifetime:  time.Duration(seconds(form.Get("expires"))) * time.Second,
	}
	said.Uses, err = strconv.ParseInt(strings.TrimSpace(form.Get("uses")), 10, 32)
	if err != nil {
		said.Uses = 0 // refused below
	}
	invalid := &oauth.Invalid{}
	if len(said.May) == 0 {
		chooseOne(invalid, "may")
	}
	if len(form["scopes"]) == 0 {
		chooseOne(invalid, "scopes")
	}
	var text string
	err = invalid.Err()
	if err == nil {
		var actor policy.Actor
		actor, err = s.acting(r, who)
		if err == nil {
			_, text, err = s.provider.Registrations.AddInitialToken(r.Context(), actor, said)
		}
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		page, err := s.initialTokensPage(r, who, form, invalid)
		if err != nil {
			return err
		}
		return s.render(w, r, invalidForm, page)
	}
	if err != nil {
		return err
	}
	s.keepText(w, who, initialTokensPath, "initial access token", text)
	seeOther(w, r, s.path(initialTokensPath))
	return nil
}

func (s *server) deleteInitialTokenPage(w http.ResponseWriter, r *http.Request) error {
	_, id, err := s.administers(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, templates.Confirm{
		Frame:     s.frame(r, ""),
		Heading:   "Delete this initial access token?",
		Message:   "Nobody can register an application with it any more. The applications that were registered with it stay.",
		Action:    s.path(initialTokensPath + url.PathEscape(id) + "/delete/"),
		Button:    "Delete the token",
		CancelURL: s.path(initialTokensPath),
		Danger:    true,
	})
}

func (s *server) deleteInitialToken(w http.ResponseWriter, r *http.Request) error {
	who, id, err := s.administers(r)
	if err != nil {
		return err
	}
	err = s.provider.Registrations.DeleteInitialToken(r.Context(), policy.By(who.User), id)
	if err != nil {
		return err
	}
	s.setNotice(w, "token-gone")
	seeOther(w, r, s.path(initialTokensPath))
	return nil
}
