package target

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Client is a client that is registered at the server.
type Client struct {
	ID           string   `yaml:"id"`
	Secret       string   `yaml:"secret,omitempty"`
	Auth         string   `yaml:"auth,omitempty"` // one of need.Methods
	RedirectURIs []string `yaml:"redirect_uris,omitempty"`
	Scope        string   `yaml:"scope,omitempty"` // replaces the target's scope

	// JWK is the private key for private_key_jwt: a JWK, or the name of a file that contains one.
	JWK any `yaml:"jwk,omitempty"`
	// CertificateFile and KeyFile are the PEM files of the certificate for tls_client_auth and
	// self_signed_tls_client_auth, or of the one to which the tokens are bound.
	CertificateFile string `yaml:"certificate,omitempty"`
	KeyFile         string `yaml:"key,omitempty"`

	// Binding is what the tokens are bound to: need.BoundToKey, or need.BoundToCertificate. If it is empty, it is the
	// certificate of the client, if there is one.
	Binding string `yaml:"binding,omitempty"`

	PostLogoutRedirectURIs []string `yaml:"post_logout_redirect_uris,omitempty"`

	// What the file does not have:
	Role     need.Need `yaml:"-"`
	Audience string    `yaml:"-"` // of its assertions: the issuer, or what the server accepts instead
	// the server wants client_id beside an assertion (RFC 7521 §4.2: it is optional)
	NamesItself    bool             `yaml:"-"`
	Signer         *jose.Key        `yaml:"-"` // what it signs assertions with
	Certificate    *tls.Certificate `yaml:"-"`
	Configuration  string           `yaml:"-"` // where the client can be deleted (RFC 7592)
	RegistrationAT string           `yaml:"-"`
	// Registration is the answer of the server if the client was registered for the run, or nil.
	Registration *wire.Answer `yaml:"-"`
}

// NewClient returns a client that is registered as its role describes. If it needs a private key, this is a new one.
func NewClient(r need.Role, id, secret string) *Client {
	c := &Client{ID: id, Secret: secret, Auth: r.Auth, RedirectURIs: r.RedirectURIs, PostLogoutRedirectURIs: r.AfterLogout,
		Role: r.Name}
	// FAPI 2.0 Message Signing §5.3.1: its requests are signed
	if r.Auth == need.PrivateKeyJWT || r.Profile == need.ProfileMessages {
		algorithm := "ES256"
		if r.Profile != "" {
			algorithm = "PS256" // the key can make signatures by RS256 too, which the profile forbids
		}
		c.Signer = jose.NewKey(algorithm)
		c.JWK = c.Signer.Private()
	}
	return c
}

// Keys returns the public keys of the client as a JWK Set, or nil.
func (c *Client) Keys() map[string]any {
	if c.Signer == nil || c.JWK == nil {
		return nil
	}
	return map[string]any{"keys": []any{c.Signer.Public()}}
}

// Credentials authenticates the client by its registered method.
func (c *Client) Credentials() wire.Auth {
	switch c.Auth {
	case need.PrivateKeyJWT, need.SecretJWT:
		return c.Assertion(func() string { return c.signer().Sign(nil, c.Claims()) })
	case need.CertificateAuth, need.SelfSignedAuth:
		return wire.Certificate(c.ID, string(c.Role))
	}
	return c.With(c.Secret)
}

// With does the same with another secret. A client without a secret uses another private key, or no certificate.
func (c *Client) With(secret string) wire.Auth {
	switch c.Auth {
	case need.SecretPost:
		return wire.InBody(c.ID, secret)
	case need.NoAuthentication, need.CertificateAuth, need.SelfSignedAuth:
		return wire.InBody(c.ID, "")
	case need.SecretJWT:
		return c.Assertion(func() string { return jose.SecretKey(secret).Sign(nil, c.Claims()) })
	case need.PrivateKeyJWT:
		return c.Assertion(func() string { return c.Another().Sign(nil, c.Claims()) })
	}
	return wire.Basic(c.ID, secret)
}

// Assertion authenticates the client by a JWT, which sign makes for each request.
func (c *Client) Assertion(sign func() string) wire.Auth {
	return func(header http.Header, form url.Values) {
		wire.Assertion(sign)(header, form)
		if c.NamesItself {
			form.Set("client_id", c.ID)
		}
	}
}

// Another returns a key of the same kind as that of the client, which it has not registered.
func (c *Client) Another() *jose.Key {
	if c.Signer == nil {
		return jose.NewKey("ES256")
	}
	other := jose.NewKey(c.Signer.Algorithm)
	other.ID = c.Signer.ID
	return other
}

// signer returns what the client signs assertions with.
func (c *Client) signer() *jose.Key {
	if c.Auth == need.SecretJWT {
		return jose.SecretKey(c.Secret)
	}
	return c.Signer
}

// Claims returns the claims of an assertion by which the client authenticates (OIDC Core §9). RFC 10070 §4: it is for
// the issuer.
func (c *Client) Claims() map[string]any {
	now := time.Now().Unix()
	return map[string]any{"iss": c.ID, "sub": c.ID, "aud": c.Audience, "exp": now + 60, "iat": now, "jti": rand.Text()}
}

// Asserting authenticates the client by an assertion with other claims and members of the header; nil removes one.
func (c *Client) Asserting(header, claims map[string]any) wire.Auth {
	return c.Assertion(func() string {
		whole := c.Claims()
		for name, value := range claims {
			if whole[name] = value; value == nil {
				delete(whole, name)
			}
		}
		return c.signer().Sign(header, whole)
	})
}

// Thumbprint returns the thumbprint of the certificate (RFC 8705 §3.1).
func (c *Client) Thumbprint() string {
	digest := sha256.Sum256(c.Certificate.Certificate[0])
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// RedirectURI returns the first redirect URI, or "".
func (c *Client) RedirectURI() string {
	if len(c.RedirectURIs) == 0 {
		return ""
	}
	return c.RedirectURIs[0]
}
