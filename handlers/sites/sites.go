package sites

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/sites"
)

type server struct{ *web.Site }

// forward is for Traefik, Caddy and HAProxy.
func (s *server) forward(w http.ResponseWriter, r *http.Request) error {
	d, err := s.decide(r, sites.Forward)
	return redirect(w, r, d, err)
}

// request is for nginx, which passes on no status but 401 and 403. It redirects the browser itself.
func (s *server) request(w http.ResponseWriter, r *http.Request) error {
	d, err := s.decide(r, sites.Original)
	if err == nil && !d.Allowed && wantsPage(r.Header) && d.SignIn != "" {
		w.Header().Set("Location", d.SignIn)
	}
	return answer(w, d, err)
}

const envoyPath = "/authz/envoy/"

// envoy is for Envoy, which sends the request itself below the path of this endpoint.
func (s *server) envoy(w http.ResponseWriter, r *http.Request) error {
	d, err := s.decide(r, sites.Start)
	return redirect(w, r, d, err)
}

// redirect answers a proxy that passes on the whole answer.
func redirect(w http.ResponseWriter, r *http.Request, d sites.Decision, err error) error {
	if err != nil || d.Allowed || !wantsPage(r.Header) || d.SignIn == "" {
		return answer(w, d, err)
	}
	w.Header().Set("Location", d.SignIn)
	w.WriteHeader(http.StatusFound)
	return nil
}

// decide asks the provider about the request that a trusted proxy describes.
func (s *server) decide(r *http.Request, family string) (sites.Decision, error) {
	err := s.fromProxy(r)
	if err != nil {
		return sites.Decision{}, err
	}
	target := "/" + strings.TrimPrefix(r.RequestURI, s.Path(envoyPath))
	d, err := s.Provider.Sites.Check(r.Context(), family, r, target)
	request.Note(r.Context(), "client", d.ClientID)
	request.Note(r.Context(), "subject", d.Subject)
	request.RecordOf(r.Context()).Quiet = d.Allowed
	return d, err
}

// answer writes a decision that leads nowhere.
func answer(w http.ResponseWriter, d sites.Decision, err error) error {
	if err != nil {
		return err
	}
	if !d.Allowed {
		return &oauth.Error{Status: http.StatusUnauthorized, Code: "login_required",
			Description: "Nobody is signed in to this site.", Challenge: `Bearer realm="mandate"`}
	}
	for name, value := range d.Identity.Headers() {
		w.Header().Set(name, value)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// fromProxy refuses a request that does not come from a trusted proxy.
func (s *server) fromProxy(r *http.Request) error {
	if s.Requests.FromProxy(r) {
		return nil
	}
	return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied", Description: "Only a reverse proxy that " +
		"TRUSTED_PROXIES lists may ask about sites."}
}

// wantsPage reports whether a browser asks for a page, and not a script or a program for data: to these a redirect to
// the sign-in would be a puzzle.
func wantsPage(h http.Header) bool {
	mode := h.Get("Sec-Fetch-Mode")
	return strings.Contains(h.Get("Accept"), "text/html") && h.Get("X-Requested-With") == "" &&
		(mode == "" || mode == "navigate") && h.Get("Upgrade") == ""
}

// host returns the host of a site to which a browser has sent a request, and its cookie that binds a sign-in to it.
func (s *server) host(r *http.Request) (host, browser string, err error) {
	err = s.fromProxy(r)
	if err != nil {
		return "", "", err
	}
	host, browser, ok := sites.Browser(r.Host, r.Header)
	if !ok {
		return "", "", web.BadRequest("The header Host is not well formed.")
	}
	return host, browser, nil
}

// signIn leads a browser to the authorization endpoint.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) error {
	host, browser, err := s.host(r)
	if err != nil {
		return err
	}
	if browser == "" {
		browser = seal.Random(32)
	}
	target, err := s.Provider.Sites.SignIn(r.Context(), host, r.URL.Query().Get(sites.TargetName), browser)
	if err != nil {
		return err
	}
	http.SetCookie(w, sites.BrowserCookie(host, browser))
	web.SeeOther(w, r, target)
	return nil
}

// callback is the redirect URI of a site.
func (s *server) callback(w http.ResponseWriter, r *http.Request) error {
	host, browser, err := s.host(r)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return web.BadRequest("The query of this address is not form-encoded: check its percent-encoding.")
	}
	arrived, err := s.Provider.Sites.Arrive(r.Context(), host, browser, query)
	if err != nil {
		return err
	}
	http.SetCookie(w, sites.Cookie(host, arrived.Cookie))
	web.SeeOther(w, r, "https://"+host+arrived.Target)
	return nil
}

// signOut ends the session of the site, and leads to the page on which the person ends that of this server. Another
// website that sends the browser here ends nothing.
func (s *server) signOut(w http.ResponseWriter, r *http.Request) error {
	host, _, err := s.host(r)
	if err != nil {
		return err
	}
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		err = s.Provider.Sites.SignOut(r.Context(), host, sites.CookieOf(host, r.Header))
		if err != nil {
			return err
		}
		http.SetCookie(w, sites.Cookie(host, ""))
	}
	web.SeeOther(w, r, s.Absolute("/logout/"))
	return nil
}

// text writes an error as a page of text.
func (s *server) text(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
	l := s.Language(r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Language", l.Tag())
	w.WriteHeader(web.StatusOf(e))
	_, _ = io.WriteString(w, l.Text(e.Description)+"\n")
}
