package clients

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mandate/provider/documents"
	"mandate/provider/logo"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// This file is about the logos of applications (RFC 7591 §2). The server fetches a logo
// itself and makes a small picture of it. So the browser of a person sends no request to
// the host of the application, which would learn who is looking at the page.

const (
	maxLogos      = 500 // pictures that are kept; one takes at most 30 KB
	keepLogoError = time.Minute
	logoSlot      = time.Hour // a name is valid for one to two of these
	maxLogoURL    = 2000      // bytes: the name contains the URL
)

// logos returns the kind of logos. Only one is decoded at a time, because that takes memory.
// The log names the host alone: the path and the query are of the application's choice.
func logos() documents.Kind[[]byte] {
	var one sync.Mutex
	return documents.Kind[[]byte]{Name: "logos", Accept: logo.Accept, MaxBytes: logo.MaxBytes, MaxKept: maxLogos,
		KeepErrors: keepLogoError,
		Read: func(_ string, d outbound.Document) ([]byte, error) {
			one.Lock()
			defer one.Unlock()
			return logo.Read(d.Header.Get("Content-Type"), d.Body)
		},
		Explain: func(at string, err error) error {
			return noLogo(fmt.Errorf("the logo at the host %s: %w", hostOfURL(at), err))
		}}
}

func noLogo(cause error) *oauth.Error {
	return &oauth.Error{Status: http.StatusNotFound, Code: "not_found", Description: "There is no logo at this address.",
		Cause: cause}
}

// named is what the name of a logo says.
type named struct {
	URL        string
	Vouched    bool // somebody has approved the application or is responsible for it
	ValidUntil int64
}

// LogoName returns the name under which Logo returns the logo of an application, or "" if it
// has none that may be shown. An application with a metadata document may have no row in the
// database yet, and another node may get the request for the logo, so the name contains all
// that is needed. Nobody else can make one: this server is no proxy for other addresses.
//
// The name stays the same for an hour, so that a browser asks once.
func (p *Clients) LogoName(a storage.Application) string {
	address := PagesOf(a, "").Logo
	at, err := url.Parse(address)
	open := policy.StandingOf(a) == policy.StandingOpen
	// The operator may have listed the hosts after the application registered itself.
	if err != nil || address == "" || len(address) > maxLogoURL || open && !p.config.Open.AllowsHost(at) {
		return ""
	}
	slot := int64(logoSlot / time.Second)
	text, err := json.Marshal(named{address, approved(a), (oauth.Now()/slot + 2) * slot})
	if err != nil {
		return ""
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + p.logoMAC(body)
}

func (p *Clients) logoMAC(body string) string {
	return base64.RawURLEncoding.EncodeToString(seal.Mac(p.names, body))
}

// Logo returns the logo with a name, as PNG. address is that of the person. Its error is an
// *oauth.Error: 404 if there is no logo, 429 if too many are being fetched.
func (p *Clients) Logo(ctx context.Context, name, address string) ([]byte, error) {
	body, mac, _ := strings.Cut(name, ".")
	if !hmac.Equal([]byte(mac), []byte(p.logoMAC(body))) {
		return nil, noLogo(errors.New("this server has not made the name"))
	}
	var n named
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	at, wrong := url.Parse(n.URL)
	if err = errors.Join(err, wrong); err != nil {
		return nil, noLogo(err)
	}
	if n.ValidUntil <= oauth.Now() {
		return nil, noLogo(errors.New("the name has expired"))
	}
	// One page can show the logos of many applications, so a network that asks for approved ones has no limit (For).
	picture, err := p.logos.Get(ctx, documents.Asked{URL: at, ID: n.URL, Address: address, Approved: n.Vouched})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, noLogo(err) // the person has left the page
	}
	return picture, err
}

// LogoStats returns how often a logo that is kept was used, how often one was fetched, and how
// many are kept.
func (p *Clients) LogoStats() (hits, misses int64, entries int) { return p.logos.Stats() }
