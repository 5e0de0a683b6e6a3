package clients

import (
	"net/url"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/templates"
)

// messagesFields sets the fields of the form about signed requests and responses.
func (s *server) messagesFields(page *templates.ApplicationForm, form url.Values, invalid *oauth.Invalid) {
	page.RequireSigned = form.Has("require_signed")
	page.ObjectAlgorithms = optionsOf([]string{form.Get("object_algorithm")}, clients.ObjectAlgorithms(), templates.Option{
		Value: "",
		Label: "Any",
		Help:  "Each algorithm that the server supports.",
	})
	page.ObjectAlgorithmError = invalid.At("object_algorithm")
	page.ResponseAlgorithms = optionsOf([]string{form.Get("response_algorithm")}, jose.Algorithms(), templates.Option{
		Value: "",
		Label: "The usual one",
		Help:  "RS256.",
	})
	page.ResponseAlgorithmError = invalid.At("response_algorithm")
	page.ResponseModes = optionsOf(form["response_modes"], clients.ResponseModes())
	page.ResponseModesError = invalid.At("response_modes")
	page.RequestURIs = templates.Field{Value: form.Get("request_uris"), Error: invalid.At("request_uris")}
}

// optionsOf returns an option for each name, after the first ones.
func optionsOf(chosen, names []string, first ...templates.Option) []templates.Option {
	for _, name := range names {
		first = append(first, templates.Option{Value: name})
	}
	return web.Checked(chosen, first...)
}
