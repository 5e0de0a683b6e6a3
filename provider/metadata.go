package provider

import (
	"context"
	"errors"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/tokens"
)

// Metadata holds the metadata of the authorization server (RFC 8414 §2).
type Metadata struct {
	Issuer                           string   `json:"issuer"`
	AuthorizationEndpoint            string   `json:"authorization_endpoint"`
	TokenEndpoint                    string   `json:"token_endpoint"`
	IntrospectionEndpoint            string   `json:"introspection_endpoint"`
	RevocationEndpoint               string   `json:"revocation_endpoint"`
	DeviceAuthorizationEndpoint      string   `json:"device_authorization_endpoint"`         // RFC 8628 §4
	PushedRequestEndpoint            string   `json:"pushed_authorization_request_endpoint"` // RFC 9126 §5
	RequirePushedRequests            bool     `json:"require_pushed_authorization_requests"` // RFC 9126 §5
	ScopesSupported                  []string `json:"scopes_supported"`
	ResponseTypesSupported           []string `json:"response_types_supported"`
	ResponseModesSupported           []string `json:"response_modes_supported"`
	GrantTypesSupported              []string `json:"grant_types_supported"`
	TokenEndpointAuthMethods         []string `json:"token_endpoint_auth_methods_supported"`
	IntrospectionEndpointAuthMethods []string `json:"introspection_endpoint_auth_methods_supported"`
	RevocationEndpointAuthMethods    []string `json:"revocation_endpoint_auth_methods_supported"`
	// RFC 8414 §2: these are present if a method is listed whose client signs a JWT.
	TokenEndpointAuthAlgorithms         []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	IntrospectionEndpointAuthAlgorithms []string `json:"introspection_endpoint_auth_signing_alg_values_supported"`
	RevocationEndpointAuthAlgorithms    []string `json:"revocation_endpoint_auth_signing_alg_values_supported"`
	// RFC 9701 §7
	IntrospectionSigningAlgorithms []string `json:"introspection_signing_alg_values_supported,omitempty"`
	CodeChallengeMethodsSupported  []string `json:"code_challenge_methods_supported"`
	// RFC 9470 §7
	ACRValuesSupported []string `json:"acr_values_supported"`
	// RFC 9449 §5.1
	DPoPAlgorithms []string `json:"dpop_signing_alg_values_supported"`
	// RFC 8705 §3.3
	CertificateBoundAccessTokens           bool     `json:"tls_client_certificate_bound_access_tokens,omitempty"`
	UILocalesSupported                     []string `json:"ui_locales_supported,omitempty"`
	AuthorizationResponseIssParamSupported bool     `json:"authorization_response_iss_parameter_supported"`
	RegistrationEndpoint                   string   `json:"registration_endpoint,omitempty"`
	JWKSURI                                string   `json:"jwks_uri,omitempty"`
	ClientIDMetadataDocumentSupported      bool     `json:"client_id_metadata_document_supported,omitempty"` // CIMD-02 §6
	// OIDC Discovery §3. RFC 9101 uses them without OpenID Connect too.
	ResponseAlgorithms           []string `json:"authorization_signing_alg_values_supported,omitempty"` // JARM §4
	RequestParameterSupported    bool     `json:"request_parameter_supported"`
	RequestURIParameterSupported bool     `json:"request_uri_parameter_supported"`
	RequestObjectAlgorithms      []string `json:"request_object_signing_alg_values_supported"`
	RequestURIRegistration       bool     `json:"require_request_uri_registration"`
	RequireSignedObject          bool     `json:"require_signed_request_object"` // RFC 9101 §10.5

	MTLSEndpointAliases *EndpointAliases `json:"mtls_endpoint_aliases,omitempty"` // RFC 8705 §5

	*OpenIDMetadata
}

// EndpointAliases holds the endpoints for clients that authenticate with a certificate (RFC
// 8705 §5).
type EndpointAliases struct {
	TokenEndpoint               string `json:"token_endpoint"`
	IntrospectionEndpoint       string `json:"introspection_endpoint"`
	RevocationEndpoint          string `json:"revocation_endpoint"`
	DeviceAuthorizationEndpoint string `json:"device_authorization_endpoint"`
	PushedRequestEndpoint       string `json:"pushed_authorization_request_endpoint"`
	UserInfoEndpoint            string `json:"userinfo_endpoint,omitempty"`
}

// OpenIDMetadata holds the metadata that an OpenID Provider adds (OIDC Discovery §3).
type OpenIDMetadata struct {
	UserInfoEndpoint            string   `json:"userinfo_endpoint"`
	SubjectTypesSupported       []string `json:"subject_types_supported"`
	IDTokenSigningAlgorithms    []string `json:"id_token_signing_alg_values_supported"`
	UserInfoSigningAlgorithms   []string `json:"userinfo_signing_alg_values_supported"`
	DisplayValuesSupported      []string `json:"display_values_supported"`
	PromptValuesSupported       []string `json:"prompt_values_supported"`
	ClaimTypesSupported         []string `json:"claim_types_supported"`
	ClaimsSupported             []string `json:"claims_supported"`
	ClaimsParameterSupported    bool     `json:"claims_parameter_supported"`
	EndSessionEndpoint          string   `json:"end_session_endpoint,omitempty"`       // OIDC RP-Logout §2.1
	BackchannelSupported        bool     `json:"backchannel_logout_supported"`         // OIDC Back-Channel §2.1
	BackchannelSessionSupported bool     `json:"backchannel_logout_session_supported"` // OIDC Back-Channel §2.1
}

// Metadata returns the metadata of this server. It contains only what is enabled.
func (p *Provider) Metadata(ctx context.Context) (Metadata, error) {
	proofs, algorithms := p.Clients.MethodNames(false), clientauth.AssertionAlgorithms()
	m := Metadata{
		Issuer:                p.config.Issuer,
		AuthorizationEndpoint: p.config.Issuer + "/authorize/",
		TokenEndpoint:         p.config.Issuer + "/token/",
		IntrospectionEndpoint: p.config.Issuer + "/introspect/",
		RevocationEndpoint:    p.config.Issuer + "/revoke_token/",

		DeviceAuthorizationEndpoint: p.config.Issuer + "/device_authorization/",
		PushedRequestEndpoint:       p.config.Issuer + "/par/",
		RequirePushedRequests:       p.config.Authorize.RequirePushed,

		ScopesSupported:          p.Rules.ScopeNames(),
		ResponseTypesSupported:   []string{"code"},
		ResponseModesSupported:   authorize.ResponseModes(p.config.OpenID, p.config.OpenID),
		GrantTypesSupported:      policy.TokenGrants(),
		TokenEndpointAuthMethods: p.Clients.MethodNames(true),
		// OIDC Discovery §3: the languages of the pages. There is no claims_locales_supported, because a claim has one value
		// for all languages.
		UILocalesSupported: p.config.People.Languages,
		// RFC 8414 §2: a value may also be a registered access token type, such as Bearer.
		IntrospectionEndpointAuthMethods:       append(proofs, "Bearer"),
		RevocationEndpointAuthMethods:          p.Clients.MethodNames(true),
		TokenEndpointAuthAlgorithms:            algorithms,
		IntrospectionEndpointAuthAlgorithms:    algorithms,
		RevocationEndpointAuthAlgorithms:       algorithms,
		CodeChallengeMethodsSupported:          []string{"S256"},
		ACRValuesSupported:                     p.People.ACRValues(),
		DPoPAlgorithms:                         possession.Algorithms(),
		CertificateBoundAccessTokens:           p.config.CertificateURL != "",
		AuthorizationResponseIssParamSupported: true,
		ClientIDMetadataDocumentSupported:      p.config.Open.Documents(),
		RequestParameterSupported:              true,
		RequestURIParameterSupported:           p.config.Authorize.ObjectsByReference,
		RequestObjectAlgorithms:                clients.ObjectAlgorithms(),
		RequestURIRegistration:                 true,
		RequireSignedObject:                    p.config.Authorize.RequireSigned,
	}
	if at := p.CertificateEndpoints(); at != "" {
		m.MTLSEndpointAliases = &EndpointAliases{at + "/token/", at + "/introspect/", at + "/revoke_token/",
			at + "/device_authorization/", at + "/par/", ""}
		if p.config.OpenID {
			m.MTLSEndpointAliases.UserInfoEndpoint = at + "/userinfo/"
		}
	}
	if p.Registers() {
		m.RegistrationEndpoint = p.config.Issuer + "/register/"
	}
	const keys = "/.well-known/jwks.json"
	if p.config.OpenID {
		m.OpenIDMetadata, m.JWKSURI = p.openIDMetadata(), p.config.Issuer+keys
		m.IntrospectionSigningAlgorithms, m.ResponseAlgorithms = jose.Algorithms(), jose.Algorithms()
		return m, nil
	}
	// RFC 9068 §4: APIs need jwks_uri, even if the server issues no ID tokens.
	// RFC 8414 §2: jwks_uri is omitted if there is no key set.
	_, err := p.Keys.JWKSet(ctx)
	if errors.Is(err, oauth.ErrNotFound) {
		return m, nil
	}
	m.JWKSURI, m.IntrospectionSigningAlgorithms, m.ResponseAlgorithms = p.config.Issuer+keys, jose.Algorithms(),
		jose.Algorithms()
	m.ResponseModesSupported = authorize.ResponseModes(false, true)
	return m, err
}

// openIDMetadata returns the metadata that OpenID Connect adds.
func (p *Provider) openIDMetadata() *OpenIDMetadata {
	m := &OpenIDMetadata{
		UserInfoEndpoint:          p.config.Issuer + "/userinfo/",
		SubjectTypesSupported:     []string{"public", "pairwise"},
		IDTokenSigningAlgorithms:  append(jose.Algorithms(), jose.HS256),
		UserInfoSigningAlgorithms: append(jose.Algorithms(), jose.HS256),
		DisplayValuesSupported:    []string{"page", "popup", "touch", "wap"},
		PromptValuesSupported:     []string{"none", "login", "consent", "select_account"},
		ClaimTypesSupported:       []string{"normal"},
		ClaimsSupported:           tokens.ClaimsSupported(p.Rules.ScopeNames()),
		ClaimsParameterSupported:  true,

		BackchannelSupported: true, BackchannelSessionSupported: true,
	}
	if p.config.Logout.Enabled {
		m.EndSessionEndpoint = p.config.Issuer + "/logout/"
	}
	return m
}

// Registers reports whether applications can register themselves, with or without an initial
// access token.
func (p *Provider) Registers() bool {
	return p.config.Open.Registration() || p.config.Open.WithToken
}

// Issuer returns the issuer identifier of this server.
func (p *Provider) Issuer() string { return p.config.Issuer }

// CertificateEndpoints returns the address below which the endpoints for clients with certificates
// are (RFC 8705 §5), or "" if there are none.
func (p *Provider) CertificateEndpoints() string {
	if p.config.CertificateURL == "" {
		return ""
	}
	return p.config.CertificateURL + "/o"
}
