// Package metadata reads and writes client metadata: what an application says about itself
// when it registers (RFC 7591 §2, OIDC Registration §2) or in a document at its client id.
// It decides nothing that depends on the server.
package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/authority"
)

// The values of token_endpoint_auth_method that RFC 7591 §2, RFC 8705 §2.1.1 and §2.2.1 define.
const (
	MethodNone        = "none"
	MethodBasic       = "client_secret_basic"
	MethodPost        = "client_secret_post"
	MethodCertificate = "tls_client_auth"
	MethodSelfSigned  = "self_signed_tls_client_auth"

	// OIDC Core §9 defines these.
	MethodSecretJWT     = "client_secret_jwt"
	MethodPrivateKeyJWT = "private_key_jwt"
)

// The values of application_type (OIDC Registration §2).
const (
	Web    = "web"
	Native = "native"
)

// Client is the metadata of a client. An empty value means that the member is absent.
type Client struct {
	RedirectURIs  []string
	AuthMethod    string   // token_endpoint_auth_method
	AuthMethods   []string // token_endpoint_auth_methods_supported: all methods of which the client can use one
	AuthAlgorithm string   // token_endpoint_auth_signing_alg
	// Subjects name the subject of the client's certificate: one of them is set (RFC 8705
	// §2.1.2).
	Subjects        CertificateSubjects
	GrantTypes      []string
	ResponseTypes   []string
	Scope           string
	ApplicationType string

	// For people.
	Name      string
	ClientURI string
	LogoURI   string
	PolicyURI string
	TermsURI  string // tos_uri
	Contacts  []string
	// Translated holds the members whose name ends in a language tag, such as
	// client_name#de (RFC 7591 §2.2), by their whole name.
	Translated map[string]string

	RequirePushed     bool     // require_pushed_authorization_requests (RFC 9126 §6)
	Profile           string   // our own member: a profile of the server
	PKCE              string   // our own member: whether its authorization requests need a code challenge
	DPoPBound         bool     // dpop_bound_access_tokens (RFC 9449 §5.2)
	CertificateBound  bool     // tls_client_certificate_bound_access_tokens (RFC 8705 §3.4)
	RequireSigned     bool     // require_signed_request_object (RFC 9101 §10.5)
	ResponseAlgorithm string   // authorization_signed_response_alg (JARM §3)
	ResponseModes     []string // response_modes
	JWKS              json.RawMessage
	JWKSURI           string
	SoftwareID        string
	SoftwareVersion   string
	SoftwareStatement string

	IntrospectionAlgorithm  string // introspection_signed_response_alg (RFC 9701 §6)
	IntrospectionEncryption Encryption
	ResponseEncryption      Encryption // authorization_encrypted_response_alg and _enc (JARM §3)

	// For OpenID Connect.
	SubjectType        string
	SectorURI          string // sector_identifier_uri
	IDTokenAlgorithm   string // id_token_signed_response_alg
	UserInfoAlgorithm  string // userinfo_signed_response_alg
	ClaimsInIDToken    string // claims_in_id_token: on or off; of this server, and of no standard
	RequestAlgorithm   string // request_object_signing_alg
	DefaultMaxAge      *int64 // seconds
	RequireAuthTime    bool
	DefaultACR         []string // default_acr_values
	InitiateLoginURI   string
	RequestURIs        []string
	PostLogoutURIs     []string // post_logout_redirect_uris
	BackchannelURI     string   // backchannel_logout_uri
	BackchannelSession bool     // backchannel_logout_session_required
	IDTokenEncryption  Encryption
	UserInfoEncryption Encryption

	// What the server has assigned. A client sends these only in an update (RFC 7592 §2.2).
	ClientID, ClientSecret string

	sent  map[string]bool // the names of the members that are present
	plain []plainMember
}

// plainMember is a text that decides nothing, and that whoever reads the metadata names.
type plainMember struct{ name, text string }

// Text returns the value of a plain member.
func (c *Client) Text(name string) string {
	for _, p := range c.plain {
		if p.name == name {
			return p.text
		}
	}
	return ""
}

// CertificateSubjects are the ways in which a client can name the subject of its certificate.
type CertificateSubjects struct{ DN, DNS, URI, IP, Email string }

// Encryption names the algorithms of a JWE: for the key, and for the content.
type Encryption struct{ Algorithm, Content string }

// Error says which member is wrong, and what to change.
type Error struct {
	Member  string // "": the document itself
	Problem string // completes a sentence that begins with the name of the member
	Signed  bool   // the member is a claim of the software statement
}

// Error returns the sentence.
func (e *Error) Error() string {
	if e.Member == "" {
		return "The metadata " + e.Problem + "."
	}
	return e.Member + " " + e.Problem + "."
}

func wrong(member, format string, args ...any) *Error {
	return &Error{Member: member, Problem: fmt.Sprintf(format, args...)}
}

// Sent reports whether the document has a member with this name that is neither null nor
// an empty string.
func (c *Client) Sent(name string) bool { return c.sent[name] }

// setDefaults sets the values that an absent member stands for (RFC 7591 §2, OIDC
// Registration §2).
func (c *Client) setDefaults() {
	if c.AuthMethod == "" {
		c.AuthMethod = MethodBasic
	}
	if len(c.GrantTypes) == 0 {
		c.GrantTypes = []string{"authorization_code"}
	}
	// RFC 7591 §2.1: a response type belongs to a grant type, so a client that uses no
	// authorization endpoint has none.
	if len(c.ResponseTypes) == 0 && slices.Contains(c.GrantTypes, "authorization_code") {
		c.ResponseTypes = []string{"code"}
	}
	if c.ApplicationType == "" {
		c.ApplicationType = Web
	}
}

// check checks what depends on no server.
func (c *Client) check() *Error {
	// RFC 7591 §2.1: the code flow is the grant type and the response type together.
	switch code := slices.Contains(c.ResponseTypes, "code"); {
	case code && !slices.Contains(c.GrantTypes, "authorization_code"):
		return wrong("response_types", "has code, which needs authorization_code in grant_types")
	case !code && slices.Contains(c.GrantTypes, "authorization_code"):
		return wrong("grant_types", "has authorization_code, which needs code in response_types")
	}
	if c.ApplicationType != Web && c.ApplicationType != Native {
		return wrong("application_type", "must be web or native")
	}
	// RFC 7591 §2: jwks and jwks_uri are not used together.
	if c.JWKSURI != "" && c.JWKS != nil {
		return wrong("jwks", "and jwks_uri must not be used together")
	}
	if c.DefaultMaxAge != nil && *c.DefaultMaxAge < 0 {
		return wrong("default_max_age", "must not be negative")
	}
	return c.checkAddresses()
}

func (c *Client) checkAddresses() *Error {
	// OIDC Registration §2: these addresses have the scheme https.
	for _, of := range []struct{ member, value string }{{"jwks_uri", c.JWKSURI}, {"sector_identifier_uri", c.SectorURI},
		{"initiate_login_uri", c.InitiateLoginURI}} {
		if problem := wrongPage(of.value, "https"); problem != "" {
			return wrong(of.member, "%s", problem)
		}
	}
	pages := map[string]string{"client_uri": c.ClientURI, "logo_uri": c.LogoURI, "policy_uri": c.PolicyURI,
		"tos_uri": c.TermsURI}
	for member, value := range c.Translated {
		if base, _, _ := strings.Cut(member, "#"); base != "client_name" {
			pages[member] = value
		}
	}
	for _, member := range slices.Sorted(maps.Keys(pages)) {
		// A page links to this address, so javascript: and data: would run in the person's
		// browser.
		if problem := wrongPage(pages[member], "https", "http"); problem != "" {
			return wrong(member, "%s", problem)
		}
	}
	return nil
}

// wrongPage says what is wrong with the address of a page, or returns "".
func wrongPage(raw string, schemes ...string) string {
	if raw == "" {
		return ""
	}
	if scheme, _, _ := strings.Cut(raw, ":"); slices.Contains(schemes, scheme) {
		if wrong := authority.Check(raw); wrong != "" {
			return wrong
		}
	}
	u, err := url.Parse(raw)
	foreign := strings.ContainsFunc(raw,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) })
	if err != nil || foreign || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || u.Hostname() == "" {
		return "must be an absolute URL that begins with https://"
	}
	return ""
}
