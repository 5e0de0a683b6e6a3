package clients

import (
	"slices"

	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/templates"
)

// choices returns the options of a field. What this person may not choose is among them only if it is chosen, and what
// is chosen is always among them: a field without it would send nothing, and empty usually allows everything.
func (s *server) choices(name string, chosen []string, of filled) []templates.Option {
	options := slices.DeleteFunc(
		web.Checked(chosen, s.options(name, of)...),
		func(o templates.Option) bool { return !o.Checked && !s.offers(name, o.Value, of) },
	)
	for _, value := range chosen {
		if value != "" && !slices.ContainsFunc(options, func(o templates.Option) bool { return o.Value == value }) {
			options = append(options, templates.Option{
				Value:   value,
				Label:   "As it has registered",
				Help:    oauth.Clip(value, 200),
				Checked: true,
			})
		}
	}
	return options
}

// offers reports whether this person may choose an option of a field. Some protect people less: only an administrator
// may choose them, for an application for which an administrator is responsible.
func (s *server) offers(name, value string, of filled) bool {
	switch name {
	case "grant_type":
		return slices.Contains(of.may.Grants, value)
	case "sender_constraint":
		return value != possession.Certificate || s.Provider.Clients.Offers(clientauth.MethodSelfSigned)
	case "auth_method":
		return value == "" || s.Provider.Clients.Offers(value)
	case "claims_in_id_token":
		return of.privileges || value != policy.ClaimsOn
	case "pkce":
		return of.privileges || value != policy.PKCEIfSent
	case "refresh_rotation":
		return of.privileges || value != policy.RotationOff
	}
	return true
}

// options returns what each field can be set to, whoever may choose it.
func (s *server) options(name string, of filled) []templates.Option {
	switch name {
	case "client_type":
		return clientTypes()
	case "grant_type":
		return web.GrantOptions()
	case "scope":
		return s.ScopeOptions(offeredScopes(of.may, of.application), nil)
	case "profile":
		return profiles()
	case "required_acr":
		return web.RequirableLogins()
	case "default_acr_values":
		return defaultLogins()
	case "sender_constraint":
		return constraints()
	case "auth_method":
		return authMethods()
	case "auth_algorithm":
		return names(clientauth.AssertionAlgorithms(), templates.Option{
			Label: "Any",
			Help:  "Each algorithm that the method allows.",
		})
	case "introspection_algorithm":
		return append([]templates.Option{{Label: "The usual one", Help: policy.DefaultAlgorithm}}, web.Algorithms()...)
	case "object_algorithm":
		return names(clients.ObjectAlgorithms(), templates.Option{
			Label: "Any",
			Help:  "Each algorithm that the server supports.",
		})
	case "response_algorithm":
		return names(jose.Algorithms(), templates.Option{Label: "The usual one", Help: "RS256."})
	case "response_modes":
		return names(clients.ResponseModes())
	case "access_token_format":
		return s.formats()
	case "algorithm":
		return idTokenAlgorithms()
	case "userinfo_algorithm":
		return append([]templates.Option{{
			Label: "Not signed",
			Help:  "Plain JSON, which is what nearly every application expects.",
		}}, idTokenAlgorithms()...)
	case "claims_in_id_token":
		return claims()
	case "pkce":
		return s.pkce(of)
	case "refresh_rotation":
		return s.rotations()
	}
	return nil
}

// names returns an option for each name, after the first ones.
func names(list []string, first ...templates.Option) []templates.Option {
	for _, name := range list {
		first = append(first, templates.Option{Value: name})
	}
	return first
}

func clientTypes() []templates.Option {
	return []templates.Option{
		{
			Value: policy.Confidential,
			Label: "Confidential",
			Help:  "It runs on a server and can keep a secret.",
		},
		{
			Value: policy.Public,
			Label: "Public",
			Help:  "It runs in a browser, on a phone or on a desktop computer, and cannot keep a secret.",
		},
	}
}

func (s *server) formats() []templates.Option {
	return []templates.Option{
		{
			Value: policy.FormatOpaque,
			Label: "Opaque",
			Help: "A random string. An API asks this server whether the token is active, so a revoked token is refused " +
				"at once.",
		},
		{
			Value: policy.FormatJWT,
			Label: "JWT",
			Help: "Signed, so that an API can verify it with the server’s public keys (RFC 9068). Such an API accepts a " +
				"revoked token until it expires, and everybody who has the token can read it. It is valid for " +
				web.Span(s.Provider.Lifetimes().JWT) + ", unless you set a lifetime below.",
		},
	}
}

func profiles() []templates.Option {
	list := []templates.Option{{Label: "None", Help: "Each requirement can be switched on by itself."}}
	for _, name := range policy.Profiles() {
		list = append(list, templates.Option{Value: name, Label: profileNames[name], Help: profileHelp[name]})
	}
	return list
}

// defaultLogins are the logins for requests that name none.
func defaultLogins() []templates.Option {
	logins := []templates.Option{{Label: "Any", Help: "As the person likes."}}
	for _, one := range web.RequirableLogins()[1:] {
		logins = append(logins, templates.Option{Value: one.Value, Label: one.Label, Help: "acr: " + one.Value})
	}
	return logins
}

func constraints() []templates.Option {
	return []templates.Option{
		{
			Label: "As the application asks",
			Help:  "With a DPoP proof it gets a token that is bound to its key, and without one a bearer token.",
		},
		{Value: possession.DPoP, Label: boundTo[possession.DPoP], Help: "Each token request needs a DPoP proof (RFC 9449)."},
		{
			Value: possession.Certificate,
			Label: boundTo[possession.Certificate],
			Help:  "Each token request needs the certificate (RFC 8705).",
		},
	}
}

func authMethods() []templates.Option {
	methods := []templates.Option{{
		Label: "The usual one",
		Help: "A confidential application sends its secret by HTTP Basic or in the body. A public one sends only its " +
			"client ID.",
	}}
	for _, m := range clientauth.Methods() {
		methods = append(methods, templates.Option{Value: m.Name, Label: m.Label, Help: m.Name})
	}
	return methods
}

// idTokenAlgorithms returns the algorithms for what only the application itself verifies.
func idTokenAlgorithms() []templates.Option {
	return append(web.Algorithms(), templates.Option{
		Value: "HS256",
		Help: "Signed with the client secret, so everybody who can verify a signature can also create one. Only for a " +
			"confidential application whose secret is kept encrypted, not as a hash. The secret must have at least 32 bytes.",
	})
}

// rotations says whether refresh tokens are replaced.
func (s *server) rotations() []templates.Option {
	usual := "A refresh token is replaced when it is used."
	if s.Provider.KeepsRefreshTokens() {
		usual = "A confidential application keeps its refresh token."
	}
	return []templates.Option{
		{Label: "As the server is set", Help: usual},
		{
			Value: policy.RotationOn,
			Label: rotationNames[policy.RotationOn],
			Help:  "Whoever copied a refresh token is found out when it is used a second time.",
		},
		{
			Value: policy.RotationOff,
			Label: rotationNames[policy.RotationOff],
			Help:  "For an application that cannot store a new refresh token after each use.",
		},
	}
}

// claims says whether ID tokens have the claims of the scopes.
func claims() []templates.Option {
	return []templates.Option{
		{
			Label: "As the kind of the application says",
			Help: "Included for a confidential application for which an administrator is responsible, if it has no " +
				"profile.",
		},
		{
			Value: policy.ClaimsOn,
			Label: claimsNames[true],
			Help:  "For an application that reads only the ID token, such as a cluster of Kubernetes.",
		},
		{
			Value: policy.ClaimsOff,
			Label: claimsNames[false],
			Help:  "The application reads them at the UserInfo endpoint.",
		},
	}
}

// pkce says whether requests need a code challenge.
func (s *server) pkce(of filled) []templates.Option {
	return []templates.Option{
		{Label: "The rule of the server", Help: s.usualPKCE(of.actor, of.application)},
		{
			Value: policy.PKCERequired,
			Label: pkceNames[policy.PKCERequired],
			Help:  "A request without a code challenge is refused.",
		},
		{
			Value: policy.PKCEIfSent,
			Label: pkceNames[policy.PKCEIfSent],
			Help:  "For a program that cannot send a code challenge. A stolen code is then easier to use.",
		},
	}
}
