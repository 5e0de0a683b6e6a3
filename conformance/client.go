package conformance

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// Client is one that is registered at the server.
type Client struct {
	ID           string   `yaml:"id"`
	Secret       string   `yaml:"secret,omitempty"`
	Auth         string   `yaml:"auth,omitempty"` // client_secret_basic, client_secret_post or none
	RedirectURIs []string `yaml:"redirect_uris,omitempty"`
	Scope        string   `yaml:"scope,omitempty"` // in the place of the target's

	PostLogoutRedirectURIs []string `yaml:"post_logout_redirect_uris,omitempty"`

	role           Need
	configuration  string // where it is removed (RFC 7592)
	registrationAT string
}

// NewClient is the client of a target that is registered as its role looks.
func NewClient(r Role, id, secret string) *Client {
	return &Client{ID: id, Secret: secret, RedirectURIs: r.RedirectURIs, PostLogoutRedirectURIs: r.AfterLogout, role: r.Name}
}

// Credentials authenticates the client in its registered way.
func (c *Client) Credentials() Auth { return c.With(c.Secret) }

// With is Credentials with another secret.
func (c *Client) With(secret string) Auth {
	switch c.Auth {
	case clientSecretPost:
		return InBody(c.ID, secret)
	case noAuthentication:
		return InBody(c.ID, "")
	}
	return Basic(c.ID, secret)
}

func (c *Client) redirectURI() string {
	if len(c.RedirectURIs) == 0 {
		return ""
	}
	return c.RedirectURIs[0]
}

func (c *Client) check(role Need) error {
	as, known := roleOf(role)
	if !known {
		return fmt.Errorf("there is no such role: use %s", names(Roles()))
	}
	if c == nil || c.ID == "" {
		return errors.New("id is missing")
	}
	if c.Auth == "" {
		c.Auth = clientSecretBasic
		if c.Secret == "" {
			c.Auth = noAuthentication
		}
	}
	switch {
	case !slices.Contains([]string{clientSecretBasic, clientSecretPost, noAuthentication}, c.Auth):
		return fmt.Errorf("auth: %q is none of client_secret_basic, client_secret_post, none", c.Auth)
	case (c.Auth == noAuthentication) != (c.Secret == ""):
		return fmt.Errorf("auth is %s, and there is a secret or there is none", c.Auth)
	}
	for _, uri := range c.RedirectURIs {
		_, err := url.Parse(uri)
		if err != nil {
			return fmt.Errorf("redirect_uris: %q is not a URI", uri)
		}
	}
	return c.fits(as)
}

// fits says what a client lacks for its role.
func (c *Client) fits(r Role) error {
	switch {
	case r.Public && c.Secret != "":
		return fmt.Errorf("secret: the role is %s, and such a client has none", r.Is)
	case !r.Public && c.Secret == "":
		return fmt.Errorf("secret is missing: the role is %s", r.Is)
	case len(r.RedirectURIs) > 0 && len(c.RedirectURIs) == 0:
		return errors.New("redirect_uris is missing")
	case len(c.RedirectURIs) < len(r.RedirectURIs):
		return fmt.Errorf("redirect_uris needs %d", len(r.RedirectURIs))
	case len(r.AfterLogout) > 0 && len(c.PostLogoutRedirectURIs) == 0:
		return errors.New("post_logout_redirect_uris is missing")
	}
	return nil
}
