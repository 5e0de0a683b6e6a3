package clients

import (
	"testing"

	"mandate/storage"
)

func TestPagesOf(t *testing.T) {
	const said = `{"client_uri":"https://tool.example/","policy_uri":"https://docs.example/policy","tos_uri":"http://tool.example/terms"}`
	for name, test := range map[string]struct {
		a    storage.Application
		want Pages
	}{
		"no metadata": {storage.Application{RedirectURIs: "https://tool.example/cb"}, Pages{}},
		"the host of a redirect URI": {storage.Application{Metadata: said, RedirectURIs: "https://tool.example/cb"},
			Pages{Home: "https://tool.example/"}},
		"each redirect URI counts": {storage.Application{Metadata: said,
			RedirectURIs: "https://tool.example/cb\nhttps://docs.example/cb"},
			Pages{Home: "https://tool.example/", Policy: "https://docs.example/policy"}},
		"a redirect URI on the device": {storage.Application{Metadata: `{"client_uri":"https://localhost/"}`,
			RedirectURIs: "http://localhost/cb"}, Pages{}},
		"the host of the document": {storage.Application{Metadata: said, RedirectURIs: "http://localhost/cb",
			Origin: storage.FromDocument, ClientID: "https://tool.example/client.json"}, Pages{Home: "https://tool.example/"}},
		"a client id that looks like one": {storage.Application{Metadata: said, RedirectURIs: "http://localhost/cb",
			Origin: storage.FromCommand, ClientID: "https://tool.example/client.json"}, Pages{}},
		"a logo": {storage.Application{Metadata: `{"logo_uri":"https://tool.example/logo.png"}`,
			RedirectURIs: "https://tool.example/cb"}, Pages{Logo: "https://tool.example/logo.png"}},
		"the logo of somebody else": {storage.Application{Metadata: `{"logo_uri":"https://bank.example/logo.png"}`,
			RedirectURIs: "https://tool.example/cb"}, Pages{}},
		"a page that is not valid any more": {
			storage.Application{
				Metadata:     `{"client_uri":"https://t\u043eol.example/","policy_uri":"https://tool.example/policy"}`,
				RedirectURIs: "https://tool.example/cb"}, Pages{Policy: "https://tool.example/policy"}},
		"metadata that cannot be read": {storage.Application{Metadata: `{`, RedirectURIs: "https://tool.example/cb"},
			Pages{}},
		"a host that ends like a redirect URI": {storage.Application{Metadata: `{"client_uri":"https://eviltool.example/"}`,
			RedirectURIs: "https://tool.example/cb"}, Pages{}},
	} {
		if got := PagesOf(test.a, "en"); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// OIDC Registration §2.1, RFC 7591 §2.2: what people read may be there in several languages.
func TestNameIn(t *testing.T) {
	const said = `{"client_name#de":"Ferienplaner","client_name#FR-ca":"Planificateur","client_name#fr-BE":"Agenda","client_name#es":"Plan\u202eificador","policy_uri":"https://tool.example/policy","policy_uri#de":"https://tool.example/datenschutz","policy_uri#fr":"https://bank.example/"}`
	a := storage.Application{Name: "Holiday Planner", Metadata: said, RedirectURIs: "https://tool.example/cb",
		Management: storage.ManagedAlone}
	for language, want := range map[string]string{"en": "Holiday Planner", "de": "Ferienplaner", "fr": "Planificateur",
		"es": "Holiday Planner", "": "Holiday Planner"} {
		if got := NameIn(a, language); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	for language, want := range map[string]string{"en": "https://tool.example/policy",
		"de": "https://tool.example/datenschutz", "fr": "https://tool.example/policy"} {
		if got := PagesOf(a, language).Policy; got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	taken := a
	taken.Management = ""
	for _, plain := range []storage.Application{{Name: "Holiday Planner", Management: storage.ManagedAlone}, taken} {
		if got := NameIn(plain, "de"); got != "Holiday Planner" {
			t.Errorf("%q", got)
		}
	}
}
