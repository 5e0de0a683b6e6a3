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

// Sites are the web sites of the demo: they send people to the server and
// show them each message of the code flow. They know the server as any other
// client does, by its endpoints.
type Sites struct {
	cast  *Cast
	pages *templates.Pages
	log   *slog.Logger
}

// NewSites makes the sites of a demo that has been filled.
func NewSites(cast *Cast, pages *templates.Pages, log *slog.Logger) *Sites {
	return &Sites{cast: cast, pages: pages, log: log}
}

// Before puts the sites in front of the server.
func (c *Sites) Before(server http.Handler) http.Handler {
	sites := map[string]http.HandlerFunc{"/demo": c.choose, "/demo/": c.choose, "/demo/start": c.start, "/demo/callback": c.callback}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, ours := sites[r.URL.Path]
		switch {
		case !ours:
			server.ServeHTTP(w, r)
		case "http://"+r.Host != c.cast.base:
			// The cookie must come back at the callback: there is one name of this host.
			http.Redirect(w, r, c.cast.base+"/demo/", http.StatusSeeOther)
		default:
			site(w, r)
		}
	})
}

// choose is the first page: which site to play.
func (c *Sites) choose(w http.ResponseWriter, r *http.Request) {
	page := templates.Walk{Intro: "Here are three sites that want something of you. Each sends you to this server, where you sign in as alice, with the password that the demo has printed, and say whether you allow it. Then you see every message that was sent, and what it is for."}
	for _, site := range c.cast.sites {
		page.Choices = append(page.Choices, templates.WalkChoice{Title: site.name + ": " + site.wants, Text: site.about,
			URL: "/demo/start?site=" + url.QueryEscape(site.name), Label: "Go to " + site.name})
	}
	c.show(w, http.StatusOK, page)
}

// visit is what a site remembers of a browser, from the start until the
// callback.
type visit struct {
	site                   *webSite
	state, nonce, verifier string
}

const cookieName = "mandate_demo"

// start sends the browser to the authorization endpoint (RFC 6749 §4.1.1).
func (c *Sites) start(w http.ResponseWriter, r *http.Request) {
	site := c.cast.site(r.URL.Query().Get("site"))
	if site == nil {
		c.refuse(w, "The demo has no such site.")
		return
	}
	// RFC 7636 §4.1: 32 random bytes make a verifier of 43 characters.
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	d := &visit{site, rand.Text(), rand.Text(), base64.RawURLEncoding.EncodeToString(secret)}
	kept := strings.Join([]string{site.name, d.state, d.nonce, d.verifier}, ".")
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: kept, Path: "/demo/", MaxAge: 600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, c.cast.base+"/o/authorize/?"+c.parameters(d).Encode(), http.StatusSeeOther)
}

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
	return p
}

// remembered reads the cookie that start has set, and takes it away: an answer
// is used once.
func (c *Sites) remembered(w http.ResponseWriter, r *http.Request) (*visit, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, refusal("This browser has no walk under way, or has finished it: a code works once.")
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/demo/", MaxAge: -1})
	kept := append(strings.Split(cookie.Value, "."), "", "", "")
	d := &visit{c.cast.site(kept[0]), kept[1], kept[2], kept[3]}
	if d.site == nil {
		return nil, refusal("The cookie of this browser is of another demo.")
	}
	return d, nil
}

// refusal is why a site does not take an answer.
type refusal string

func (r refusal) Error() string { return string(r) }

// callback takes the answer (RFC 6749 §4.1.2), uses it and shows all of it.
func (c *Sites) callback(w http.ResponseWriter, r *http.Request) {
	walk := &codeFlow{client: c, host: r.Host}
	d, err := c.remembered(w, r)
	if err == nil {
		walk.visit = d
		err = c.check(d, r.URL.Query())
	}
	if err == nil {
		err = walk.through(r)
	}
	if why, ok := errors.AsType[refusal](err); ok {
		c.refuse(w, string(why))
		return
	}
	if err != nil {
		c.log.Error("the demo could not reach its own server", "error", err)
		c.refuse(w, "The server did not answer. The log says why.")
		return
	}
	c.show(w, http.StatusOK, templates.Walk{Intro: "These are the messages that your browser, the site " + d.site.name + " and the server have just sent to each other.", Steps: walk.steps, RestartURL: "/demo/"})
}

func (c *Sites) check(d *visit, answer url.Values) error {
	// RFC 6749 §10.12: an answer that this browser did not ask for is forged.
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(d.state)) != 1 {
		return refusal("The state in the answer is not the one that was sent: somebody else began this.")
	}
	// RFC 9207 §2.4: nor is one from another server for us.
	if answer.Get("iss") != c.cast.issuer {
		return refusal("The answer comes from another server: its iss is not " + c.cast.issuer + ".")
	}
	return nil
}

func (c *Sites) refuse(w http.ResponseWriter, text string) {
	c.show(w, http.StatusBadRequest, templates.ErrorPage{Status: http.StatusBadRequest, Heading: "This walk cannot go on", Message: text, BackURL: "/demo/", BackLabel: "Begin again"})
}

func (c *Sites) show(w http.ResponseWriter, status int, page any) {
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
