package clients

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/documents"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/storage"
)

func withLogos(open OpenConfig) *Clients {
	return &Clients{config: Config{Open: open}, names: []byte("key"),
		logos: documents.New(outbound.New(outbound.Config{}), logos(), nil)}
}

// stranger is an application for which nobody is responsible, with this logo.
func stranger(logo string) storage.Application {
	return storage.Application{ID: "a", Responsible: storage.ByNobody, Origin: storage.FromRegistration,
		RedirectURIs: "https://tool.example/cb", Metadata: `{"logo_uri":"` + logo + `"}`}
}

func TestLogoName(t *testing.T) {
	listed := OpenConfig{Hosts: []string{"other.example"}}
	for name, test := range map[string]struct {
		open  OpenConfig
		a     storage.Application
		named bool
	}{
		"own host":                           {OpenConfig{}, stranger("https://tool.example/logo.png"), true},
		"own host, another port":             {OpenConfig{}, stranger("https://TOOL.example:8443/logo.png"), true},
		"another host":                       {OpenConfig{}, stranger("https://bank.example/logo.png"), false},
		"not encrypted":                      {OpenConfig{}, stranger("http://tool.example/logo.png"), false},
		"no logo":                            {OpenConfig{}, stranger(""), false},
		"a host that is not listed any more": {listed, stranger("https://tool.example/logo.png"), false},
		"a URL that is too long": {OpenConfig{},
			stranger("https://tool.example/" + strings.Repeat("a", maxLogoURL)), false},
	} {
		if got := withLogos(test.open).LogoName(test.a); (got != "") != test.named {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The tries of a stranger are limited, those of an application that somebody has approved or is responsible for are
// not.
func TestLogoNameSaysWhoVouches(t *testing.T) {
	approved, unknown, registered := stranger("https://tool.example/logo.png"), stranger("https://tool.example/logo.png"),
		stranger("https://tool.example/logo.png")
	approved.Origin, approved.ClientID = storage.FromDocument, "https://tool.example/client.json"
	unknown.Origin, unknown.ClientID, unknown.ID = storage.FromDocument, "https://tool.example/client.json", ""
	answered, used := stranger("https://tool.example/logo.png"), stranger("https://tool.example/logo.png")
	answered.Responsible, used.LastUsedAt = storage.ByOperator, 1
	p := withLogos(OpenConfig{})
	for name, test := range map[string]struct {
		a    storage.Application
		want bool
	}{
		"a document that was approved": {approved, true},
		"a document":                   {unknown, false},
		"a registration":               {registered, false},
		"a registration that was used": {used, true},
		"an operator is responsible":   {answered, true},
	} {
		body, _, _ := strings.Cut(p.LogoName(test.a), ".")
		text, err := base64.RawURLEncoding.DecodeString(body)
		if err != nil || strings.Contains(string(text), `"Vouched":true`) != test.want {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// Only this server makes names, and they expire.
func TestLogoNamesAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := withLogos(OpenConfig{})
		const kept = "https://tool.example/logo.png"
		name := p.LogoName(stranger(kept))
		if again := p.LogoName(stranger(kept)); again != name {
			t.Error("a browser would fetch the logo for each page")
		}
		status := func(name string, want int) {
			t.Helper()
			_, err := p.Logo(t.Context(), name, "192.0.2.1")
			e, ok := errors.AsType[*oauth.Error](err)
			if !ok || e.Status != want {
				t.Errorf("%v", err)
			}
		}
		body, mac, _ := strings.Cut(name, ".")
		other, _, _ := strings.Cut(p.LogoName(stranger("https://tool.example/other.png")), ".")
		for _, wrong := range []string{"", ".", body, body + ".", "." + mac, other + "." + mac, name + "A",
			strings.ToUpper(name)} {
			status(wrong, http.StatusNotFound)
		}
		if _, misses, _ := p.LogoStats(); misses != 0 {
			t.Errorf("%d fetches", misses)
		}
		time.Sleep(2 * time.Hour)
		_, err := p.Logo(t.Context(), name, "192.0.2.1")
		if err == nil || !strings.Contains(err.Error(), "expired") {
			t.Error(err)
		}
	})
}
