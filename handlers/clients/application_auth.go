package clients

import (
	"net/url"

	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/templates"
)

// authenticationFields sets the fields of the form about client authentication and introspection.
func (s *server) authenticationFields(page *templates.ApplicationForm, form url.Values, invalid *oauth.Invalid) {
	methods := []templates.Option{{
		Value: "",
		Label: "The usual one",
		Help:  "A confidential application sends its secret by HTTP Basic or in the body. A public one sends only its client ID.",
	}}
	accepts := s.Provider.Clients.Offers(clientauth.MethodCertificate) || form.Get("certificate_subject") != "" ||
		invalid.At("certificate_subject") != ""
	for _, m := range clientauth.Methods() {
		if !s.Provider.Clients.Offers(m.Name) && form.Get("auth_method") != m.Name {
			continue
		}
		methods = append(methods, templates.Option{Value: m.Name, Label: m.Label, Help: m.Name})
	}
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page.AuthMethods, page.AuthMethodError = web.Checked([]string{form.Get("auth_method")}, methods...), invalid.At("auth_method")
	page.AuthAlgorithms = optionsOf(
		[]string{form.Get("auth_algorithm")}, clientauth.AssertionAlgorithms(),
		templates.Option{
			Value: "",
			Label: "Any",
			Help:  "Each algorithm that the method allows.",
		},
	)
	page.AuthAlgorithmError = invalid.At("auth_algorithm")
	page.JWKS, page.JWKSURI = field("jwks"), field("jwks_uri")
	if clients.HoldsPrivateKey(page.JWKS.Value) {
		page.JWKS.Value = ""
	}
	usual := templates.Option{Value: "", Label: "The usual one", Help: policy.DefaultAlgorithm}
	page.IntrospectionAlgorithms, page.IntrospectionError = web.Checked([]string{form.Get("introspection_algorithm")}, append([]templates.Option{usual}, web.Algorithms()...)...), invalid.At("introspection_algorithm")
	page.AcceptsCertificates, page.CertificateSubject = accepts, field("certificate_subject")
}
