package clients

import (
	"net/url"
	"slices"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// kind is a kind of application with which a registration begins. It only fills in the
// form: it is not stored, and the form can be changed.
type kind struct {
	id, title, text string
	public          bool
	grant           string
	redirects       string // where its redirect URIs lead, with an example; empty: it has none
	introspects     bool   // for administrators only
}

// kinds lists the kinds of application.
func kinds() []kind {
	return []kind{
		{
			id:    "website",
			title: "Website with a server",
			text:  "People sign in at a website whose own server can keep a secret.",
			grant: policy.GrantCode,
			redirects: "The page of the website that receives the authorization code, such as " +
				"https://shop.example.org/callback.",
		},
		{
			id:    "browser",
			title: "Browser application",
			text: "It runs in the browser alone (a single-page application), without a server of its own that could keep " +
				"a secret.",
			public: true,
			grant:  policy.GrantCode,
			redirects: "The page of the application that receives the authorization code, such as " +
				"https://app.example.org/callback.",
		},
		{
			id:     "native",
			title:  "Mobile or desktop application",
			text:   "People install it, and it opens the browser to sign them in.",
			public: true,
			grant:  policy.GrantCode,
			redirects: "On a desktop computer http://127.0.0.1/callback, which may be used with any port. On a phone an https " +
				"address that opens the application, or a scheme of its own, such as com.example.app:/callback.",
		},
		{
			id:     "device",
			title:  "Command line or device",
			text:   "A program in a terminal, or a device without a keyboard. People approve it in a browser on any device.",
			public: true,
			grant:  policy.GrantDevice,
		},
		{
			id:    "service",
			title: "Service",
			text:  "A program that acts for itself, without a person: a nightly job, or one server that calls another.",
			grant: policy.GrantClient,
		},
		{
			id:          "api",
			title:       "API",
			text:        "It receives tokens from applications and asks this server whether they are active.",
			grant:       policy.GrantClient,
			introspects: true,
		},
	}
}

// kindOf returns the kind with an id, or nil.
func kindOf(id string) *kind {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.id == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// cards returns the choices with which a registration begins.
func (s *server) cards() []templates.Card {
	var cards []templates.Card
	for _, k := range kinds() {
		cards = append(cards, templates.Card{
			URL:   s.Path("/o/applications/register/?kind=" + k.id),
			Title: k.title,
			Text:  k.text,
		})
	}
	return cards
}

// preset fills in the form of a kind.
func (k *kind) preset(form url.Values) {
	if k == nil {
		return
	}
	form.Set("grant_type", k.grant)
	if k.public {
		form.Set("client_type", policy.Public)
	}
	if k.introspects {
		form.Set("may_introspect", "on")
	}
}

// refusal says what a person has to ask an administrator for, if this person cannot
// register an application of the kind.
func (k *kind) refusal(who *storage.SignedIn, may policy.Allowance) string {
	switch {
	case k.introspects && !who.User.Administrator:
		return "Only an administrator can let an application ask about tokens. Ask one for these: a resource for your API, " +
			"with its URI, its name and its scopes; " +
			"and a confidential application that may introspect the tokens for it, with its client ID and its secret. " +
			"An API that verifies signed tokens (JWT) itself needs the resource only."
	case !slices.Contains(may.Grants, k.grant):
		return "On this server, only administrators can register applications with the grant " + grantName(k.grant) +
			". Ask an administrator to register the application, and name what it is for."
	}
	return ""
}

// mainFields are the fields that the form of a kind shows. All others are among the
// advanced ones.
func (k *kind) mainFields() []string {
	switch {
	case k.introspects: // it asks about tokens, and needs none of its own
		return []string{"name", "may_introspect"}
	case k.redirects == "":
		return []string{"name", "scope"}
	}
	return []string{"name", "redirect_uris", "scope"}
}

// advanced reports whether the advanced fields contain an error, or another value than the
// kind's, so that they must be shown.
func (k *kind) advanced(form, initial url.Values, invalid *oauth.Invalid) bool {
	shown := k.mainFields()
	if invalid != nil && slices.ContainsFunc(
		invalid.Fields, func(f oauth.FieldError) bool { return !slices.Contains(shown, f.Field) },
	) {
		return true
	}
	for _, f := range clients.Fields() {
		field := f.Name
		// The form has some of the fields only with OpenID Connect. An empty box sends nothing.
		box := slices.Contains([]string{"grant_type", "scope", "hash_client_secret"}, field)
		differs := !slices.Equal(values(form, field), values(initial, field)) && (form.Has(field) || box)
		if differs && !slices.Contains(shown, field) {
			return true
		}
	}
	return false
}

// values returns the values of a field that are not empty, sorted.
func values(form url.Values, field string) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(form[field])), func(value string) bool { return value == "" })
}
