//go:build foreign

package programs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"testing"
)

// synapse runs a homeserver. A client of it, to which it sends people after the login, shows what it knows.
func synapse(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	ask := func(method, path, token string, body, answer any) {
		text, _ := json.Marshal(body)
		r, err := http.NewRequest(method, s.url("/_matrix/client/v3"+path), bytes.NewReader(text))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+token)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer got.Body.Close()
		err = json.NewDecoder(got.Body).Decode(answer)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var login struct {
			ID    string `json:"user_id"`
			Token string `json:"access_token"`
		}
		var profile struct {
			Name string `json:"displayname"`
		}
		var emails struct{ Threepids []struct{ Address string } }
		ask("POST", "/login", "", map[string]string{"type": "m.login.token", "token": r.FormValue("loginToken")}, &login)
		ask("GET", "/profile/"+url.PathEscape(login.ID), login.Token, nil, &profile)
		ask("GET", "/account/3pid", login.Token, nil, &emails)
		who := person{Name: profile.Name}
		for _, one := range emails.Threepids {
			who.Email = one.Address
		}
		_ = json.NewEncoder(w).Encode(who)
	}))
	t.Cleanup(client.Close)
	s.query = "?redirectUrl=" + url.QueryEscape(client.URL)
	return inPython(t, "synapse", "homeserver.py")
}
