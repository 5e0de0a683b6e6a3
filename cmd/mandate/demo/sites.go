package demo

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"mandate/templates"
)

// Sites are the web sites of the demo. They send people to the server and show each
// message of the flow. They use the server's public endpoints only, as every client
// does.
type Sites struct {
	cast   *Cast
	pages  *templates.Pages
	log    *slog.Logger
	pushes pushes
}

// NewSites returns the sites of a demo that Fill has filled.
func NewSites(cast *Cast, pages *templates.Pages, log *slog.Logger) *Sites {
	return &Sites{cast: cast, pages: pages, log: log}
}

// Before serves the paths of the sites, and passes other requests to the server.
func (c *Sites) Before(server http.Handler) http.Handler {
	sites := map[string]http.HandlerFunc{"/demo": c.choose, "/demo/": c.choose, "/demo/start": c.start,
		"/demo/callback": c.callback}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, ours := sites[r.URL.Path]
		switch {
		case !ours:
			server.ServeHTTP(w, r)
		case "http://"+r.Host != c.cast.base:
			// The cookie must arrive at the callback, so this host must have one
			// name only.
			http.Redirect(w, r, c.cast.base+"/demo/", http.StatusSeeOther)
		default:
			site(w, r)
		}
	})
}

// choose is the first page, on which a person chooses a site.
func (c *Sites) choose(w http.ResponseWriter, r *http.Request) {
	page := templates.Walk{Intro: "These sites request access. Each one sends you to this server. There you sign in as " +
		"alice, with the password that the demo printed, and you approve or deny the request. Then a page shows every " +
		"message that was sent, and its purpose."}
	for _, site := range c.cast.sites {
		page.Choices = append(page.Choices, templates.WalkChoice{Title: site.name + ": " + site.wants, Text: site.about,
			URL: "/demo/start?site=" + url.QueryEscape(site.name), Label: "Go to " + site.name})
	}
	c.show(w, http.StatusOK, page)
}

const cookieName = "mandate_demo"

// start redirects the browser to the authorization endpoint (RFC 6749 §4.1.1).
func (c *Sites) start(w http.ResponseWriter, r *http.Request) {
	site := c.cast.site(r.URL.Query().Get("site"))
	if site == nil {
		c.refuse(w, "The demo does not have this site.")
		return
	}
	// RFC 7636 §4.1: 32 random bytes make a verifier of 43 characters.
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	d := &visit{site: site, state: rand.Text(), nonce: rand.Text(), verifier: base64.RawURLEncoding.EncodeToString(secret)}
	if site.secured() {
		err := (&codeFlow{visit: d, client: c, host: r.Host}).push(r)
		if err != nil {
			c.fail(w, err)
			return
		}
		c.pushes.keep(d.state, d.pushed)
	}
	kept := strings.Join([]string{site.name, d.state, d.nonce, d.verifier}, ".")
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: kept, Path: "/demo/", MaxAge: 600, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, c.cast.base+"/o/authorize/?"+c.query(d).Encode(), http.StatusSeeOther)
}

// query is what the browser carries to the authorization endpoint.
func (c *Sites) query(d *visit) url.Values {
	if d.site.secured() {
		// RFC 9126 §4: the reference stands for all parameters.
		return url.Values{"client_id": {d.site.id}, "request_uri": {d.pushed.uri}}
	}
	return c.parameters(d)
}

// parameters are those of the authorization request.
func (c *Sites) parameters(d *visit) url.Values {
	sum := sha256.Sum256([]byte(d.verifier))
	p := url.Values{
		"response_type":         {"code"},
		"client_id":             {d.site.id},
		"redirect_uri":          {c.cast.callback()},
		"scope":                 {d.site.scope},
		"state":                 {d.state},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}
	if d.site.algorithm != "" {
		p.Set("nonce", d.nonce)
	}
	if d.site.signs() {
		p.Set("response_mode", "jwt")
	}
	return p
}

// remembered reads the cookie that start set, and deletes it: a response is used
// once.
func (c *Sites) remembered(w http.ResponseWriter, r *http.Request) (*visit, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, refusal("This browser has not started the flow, or has already finished it: an authorization code " +
			"works once.")
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/demo/", MaxAge: -1})
	kept := append(strings.Split(cookie.Value, "."), "", "", "")
	d := &visit{site: c.cast.site(kept[0]), state: kept[1], nonce: kept[2], verifier: kept[3],
		pushed: c.pushes.take(kept[1])}
	if d.site == nil || d.site.secured() && d.pushed.uri == "" {
		return nil, refusal("The cookie of this browser comes from another demo.")
	}
	return d, nil
}

// refusal is the reason why a site refuses a response.
type refusal string

func (r refusal) Error() string { return string(r) }

// callback receives the authorization response (RFC 6749 §4.1.2), uses it and shows
// all messages.
func (c *Sites) callback(w http.ResponseWriter, r *http.Request) {
	walk := &codeFlow{client: c, host: r.Host}
	d, err := c.remembered(w, r)
	if err == nil {
		walk.visit = d
		err = walk.through(r)
	}
	if err != nil {
		c.fail(w, err)
		return
	}
	c.show(w, http.StatusOK,
		templates.Walk{Intro: "These are the messages that your browser, the site " + d.site.name +
			" and the server sent to each other.", Steps: explainOnce(walk.steps), RestartURL: "/demo/"})
}

func (c *Sites) check(d *visit, answer url.Values) error {
	// RFC 6749 §10.12: a response that this browser did not request is forged.
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(d.state)) != 1 {
		return refusal("The state in the response is not the one that was sent: this browser did not start this request.")
	}
	// RFC 9207 §2.4: a response of another server must be refused.
	if answer.Get("iss") != c.cast.issuer {
		return refusal("The response comes from another server: its iss is not " + c.cast.issuer + ".")
	}
	return nil
}

// fail shows why the walk ends.
func (c *Sites) fail(w http.ResponseWriter, err error) {
	if why, ok := errors.AsType[refusal](err); ok {
		c.refuse(w, string(why))
		return
	}
	c.log.Error("the demo could not call its own server", "error", err)
	c.refuse(w, "The server did not respond. See the log for the cause.")
}

func (c *Sites) refuse(w http.ResponseWriter, text string) {
	c.show(w, http.StatusBadRequest,
		templates.ErrorPage{Status: http.StatusBadRequest, Heading: "The demo cannot continue", Message: text,
			BackURL: "/demo/", BackLabel: "Start again"})
}

func (c *Sites) show(w http.ResponseWriter, status int, page any) {
	body, err := c.pages.Render(c.pages.Languages.English(), page)
	if err != nil {
		c.log.Error("render a page of the demo", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body) // an error means that the browser closed the connection
}
