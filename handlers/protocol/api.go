package protocol

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"mandate/handlers/resource"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// The sample API. Its guard calls the introspection endpoint over HTTP, as it would
// in any other process.

type apiUser struct {
	Username  string `json:"username"`
	Email     string `json:"email"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type apiGroup struct {
	Name string `json:"name"`
}

type apiDetail struct {
	Detail string `json:"detail"`
}

func toAPI(u storage.User) apiUser { return apiUser{u.Username, u.Email, u.FirstName, u.LastName} }

const apiPage = 1000

// apiUsers lists at most a thousand people. The parameters limit and offset select
// others.
func (s *server) apiUsers(w http.ResponseWriter, r *http.Request) error {
	asked, err := web.Query(r)
	if err != nil {
		return err
	}
	limit, err := number(asked, "limit", apiPage)
	if err != nil || limit < 1 || limit > apiPage {
		return web.WriteJSON(w, http.StatusBadRequest, apiDetail{"limit must be a number from 1 to 1000."})
	}
	offset, err := number(asked, "offset", 0)
	if err != nil || offset < 0 {
		return web.WriteJSON(w, http.StatusBadRequest, apiDetail{"offset must be a number from 0."})
	}
	users, _, err := s.Provider.People.Users(r.Context(), "", limit, offset)
	if err != nil {
		return err
	}
	list := make([]apiUser, 0, len(users))
	for _, u := range users {
		list = append(list, toAPI(u))
	}
	return web.WriteJSON(w, http.StatusOK, list)
}

func number(asked url.Values, name string, standard int) (int, error) {
	text := asked.Get(name)
	if text == "" {
		return standard, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err
}

// apiAddUser creates a person from a form, with a password that can be used to sign
// in.
func (s *server) apiAddUser(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	if token, ok := resource.FromContext(r.Context()); ok {
		origin.Of(r.Context()).Actor = origin.Actor{Kind: origin.Application, ID: token.ClientID, Name: token.ClientID}
		if token.Username != "" {
			origin.Of(r.Context()).SignedIn(token.Subject, token.Username)
		}
	}
	u, err := s.Provider.People.AddUser(r.Context(), policy.Actor{}, people.Person{
		Username:  r.PostForm.Get("username"),
		Password:  r.PostForm.Get("password"),
		Email:     r.PostForm.Get("email"),
		FirstName: r.PostForm.Get("first_name"),
		LastName:  r.PostForm.Get("last_name"),
	})
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		fields := map[string][]string{}
		for _, f := range invalid.Fields {
			fields[f.Field] = append(fields[f.Field], f.Message)
		}
		if r.PostForm.Get("password") == "" {
			fields["password"] = []string{"This field is required."}
		}
		return web.WriteJSON(w, http.StatusBadRequest, fields)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.Absolute("/users/"+strconv.FormatInt(u.Number, 10)+"/"))
	return web.WriteJSON(w, http.StatusCreated, toAPI(u))
}

// apiUser shows one person by number.
func (s *server) apiUser(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.ParseInt(mux.Vars(r)["id"], 10, 64)
	if err != nil {
		return web.WriteJSON(w, http.StatusNotFound, apiDetail{"No User matches the given query."})
	}
	u, err := s.Provider.People.UserByNumber(r.Context(), n)
	if errors.Is(err, oauth.ErrNotFound) {
		return web.WriteJSON(w, http.StatusNotFound, apiDetail{"No User matches the given query."})
	}
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, toAPI(u))
}

// apiGroups lists the groups.
func (s *server) apiGroups(w http.ResponseWriter, r *http.Request) error {
	groups, err := s.Provider.People.Groups(r.Context())
	if err != nil {
		return err
	}
	list := make([]apiGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, apiGroup{g.Name})
	}
	return web.WriteJSON(w, http.StatusOK, list)
}

// apiResource returns what the guard has learned about the caller's access token.
func (s *server) apiResource(w http.ResponseWriter, r *http.Request) error {
	token, _ := resource.FromContext(r.Context())
	return web.WriteJSON(w, http.StatusOK, struct {
		ClientID string   `json:"client_id"`
		Username string   `json:"username,omitempty"`
		Subject  string   `json:"sub"`
		Scope    []string `json:"scope"`
	}{token.ClientID, token.Username, token.Subject, token.Scope})
}

// guardedRecently requires an access token from a login of the last five minutes (RFC 9470 §3).
func (s *server) guardedRecently(h web.Handle) web.Handle {
	guarded, err := s.Config.SampleAPI.RequireLogin(s.api(h), resource.Login{MaxAge: 5 * time.Minute})
	if err != nil {
		return func(http.ResponseWriter, *http.Request) error { return err }
	}
	return s.served(guarded)
}

// served returns a handler of net/http as one that returns an error.
func (s *server) served(h http.Handler) web.Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}

// api adapts the sample API. Its errors have the format of the framework that its
// clients know.
func (s *server) api(h web.Handle) http.Handler { return web.Adapt(h, web.Uncached, apiError) }

func apiError(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
	web.WriteError(w, r, e, apiDetail{e.Description})
}

// guarded requires an active access token with the scopes.
func (s *server) guarded(h web.Handle, scopes ...string) web.Handle {
	return s.served(s.Config.SampleAPI.Require(s.api(h), scopes...))
}
