package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/templates"
)

// demoClient is the application Web of the demo: a web site that sends people
// to the server and shows them each message of the code flow. It knows the
// server as any other client does, by its endpoints.
type demoClient struct {
	cast  *demoCast
	pages *templates.Pages
	log   *slog.Logger
}

// What the site remembers of a browser, from the start until the callback.
const demoCookie = "mandate_demo"

// start sends the browser to the authorization endpoint (RFC 6749 §4.1.1).
func (c *demoClient) start(w http.ResponseWriter, r *http.Request) {
	// The cookie must come back at the callback: there is one name of this host.
	if "http://"+r.Host != c.cast.base {
		http.Redirect(w, r, c.cast.base+"/demo/", http.StatusSeeOther)
		return
	}
	// RFC 7636 §4.1: 32 random bytes make a verifier of 43 characters.
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	state, verifier := rand.Text(), base64.RawURLEncoding.EncodeToString(secret)
	http.SetCookie(w, &http.Cookie{Name: demoCookie, Value: state + "." + verifier, Path: "/demo/", MaxAge: 600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, c.cast.base+"/o/authorize/?"+c.request(state, verifier).Encode(), http.StatusSeeOther)
}

func (c *demoClient) request(state, verifier string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type":         {"code"},
		"client_id":             {c.cast.web.id},
		"redirect_uri":          {c.cast.callback()},
		"scope":                 {"read groups"},
		"state":                 {state},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}
}

// callback takes the answer (RFC 6749 §4.1.2), uses it and shows all of it.
func (c *demoClient) callback(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(demoCookie)
	if err != nil {
		c.refuse(w, "This browser has no walk under way, or has finished it: a code works once.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: demoCookie, Path: "/demo/", MaxAge: -1})
	state, verifier, _ := strings.Cut(cookie.Value, ".")
	answer := r.URL.Query()
	// RFC 6749 §10.12: an answer that this browser did not ask for is forged.
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(state)) != 1 {
		c.refuse(w, "The state in the answer is not the one that was sent: somebody else began this.")
		return
	}
	// RFC 9207 §2.4: nor is one from another server for us.
	if answer.Get("iss") != c.cast.issuer {
		c.refuse(w, "The answer comes from another server: its iss is not "+c.cast.issuer+".")
		return
	}
	walk := &demoWalk{client: c, host: r.Host}
	walk.steps = []templates.WalkStep{{
		Title:    "The site sends the browser to the server, which sends it back",
		Text:     "In between, the server asked who you are and whether you approve. The state comes back unchanged, which shows that the answer belongs to this browser. Of the code verifier the server only gets a hash for now.",
		Request:  message("GET", "/o/authorize/?"+spread(c.request(state, verifier)), r.Host),
		Response: "HTTP/1.1 303 See Other\nLocation: " + c.cast.callback() + "\n  ?" + spread(answer),
	}}
	if code := answer.Get("code"); code != "" {
		err = walk.on(r, code, verifier)
	} else {
		walk.steps[0].Text += " The answer is a refusal, and the walk ends here."
	}
	if err != nil {
		c.log.Error("the demo could not reach its own server", "error", err)
		c.refuse(w, "The server did not answer. The log says why.")
		return
	}
	c.show(w, http.StatusOK, templates.Walk{Intro: "These are the messages that have just been sent, in their order.", Steps: walk.steps, RestartURL: "/demo/"})
}

func (c *demoClient) refuse(w http.ResponseWriter, text string) {
	c.show(w, http.StatusBadRequest, templates.ErrorPage{Status: http.StatusBadRequest, Heading: "This walk cannot go on", Message: text, BackURL: "/demo/", BackLabel: "Begin again"})
}

func (c *demoClient) show(w http.ResponseWriter, status int, page any) {
	body, err := c.pages.Render(page)
	if err != nil {
		c.log.Error("render a page of the demo", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body) // an error here means that the browser has gone
}

// demoWalk collects the exchanges of one callback.
type demoWalk struct {
	client *demoClient
	host   string
	steps  []templates.WalkStep
}

// on goes on from the code: to a token, what it is worth, and what it opens.
func (d *demoWalk) on(r *http.Request, code, verifier string) error {
	cast := d.client.cast
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	err := d.exchange(r, templates.WalkStep{Title: "The site exchanges the code for tokens",
		Text: "It shows its client secret and the code verifier: whoever has seen the code pass by has neither."},
		"/o/token/", cast.web.basic(), url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {cast.callback()}, "code_verifier": {verifier}}, &tokens)
	if err != nil || tokens.Access == "" {
		return err
	}
	err = d.exchange(r, templates.WalkStep{Title: "The site reads the sample API",
		Text: "The access token opens what its scope allows."},
		"/users/", "Bearer "+tokens.Access, nil, nil)
	if err != nil {
		return err
	}
	err = d.exchange(r, templates.WalkStep{Title: "An API asks what the token is worth",
		Text: "The application Robot may introspect, so it can play the API here."},
		"/o/introspect/", cast.robot.basic(), url.Values{"token": {tokens.Access}}, nil)
	if err != nil {
		return err
	}
	return d.exchange(r, templates.WalkStep{Title: "The site gets new tokens",
		Text: "A refresh token works once and brings its successor. Should it ever come back, everything from this approval is revoked."},
		"/o/token/", cast.web.basic(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}}, nil)
}

func (c credentials) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.id+":"+c.secret))
}

// exchange sends a request, a POST if there is a form, and notes both messages.
func (d *demoWalk) exchange(r *http.Request, step templates.WalkStep, path, authorization string, form url.Values, into any) error {
	method, lines := http.MethodGet, []string{"Authorization: " + authorization}
	if form != nil {
		method, lines = http.MethodPost, append(lines, "Content-Type: application/x-www-form-urlencoded", "", spread(form))
	}
	request, err := http.NewRequestWithContext(r.Context(), method, d.client.cast.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", authorization)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	browser := &http.Client{Timeout: 20 * time.Second}
	response, err := browser.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if into != nil {
		_ = json.Unmarshal(body, into) // the page shows what it was
	}
	step.Request, step.Response = message(method, path, d.host, lines...), reply(response, body)
	d.steps = append(d.steps, step)
	return nil
}

func message(method, path, host string, lines ...string) string {
	return strings.Join(append([]string{method + " " + path + " HTTP/1.1", "Host: " + host}, lines...), "\n")
}

func reply(response *http.Response, body []byte) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\n", response.Status)
	for _, name := range []string{"Content-Type", "Cache-Control", "WWW-Authenticate"} {
		if value := response.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n")
	if json.Indent(&b, bytes.TrimSpace(body), "", "  ") != nil {
		b.Write(body)
	}
	return b.String()
}

// spread writes parameters one a line.
func spread(values url.Values) string {
	return strings.ReplaceAll(values.Encode(), "&", "\n  &")
}
