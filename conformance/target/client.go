package target

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Client is a client that is registered at the server.
type Client struct {
	ID           string   `yaml:"id"`
	Secret       string   `yaml:"secret,omitempty"`
	Auth         string   `yaml:"auth,omitempty"` // client_secret_basic, client_secret_post or none
	RedirectURIs []string `yaml:"redirect_uris,omitempty"`
	Scope        string   `yaml:"scope,omitempty"` // replaces the target's scope

	PostLogoutRedirectURIs []string `yaml:"post_logout_redirect_uris,omitempty"`

	// What the file does not have:
	Role           need.Need `yaml:"-"`
	Configuration  string    `yaml:"-"` // where the client can be deleted (RFC 7592)
	RegistrationAT string    `yaml:"-"`
	// Registration is the answer of the server if the client was registered for the run, or nil.
	Registration *wire.Answer `yaml:"-"`
}

// NewClient returns a client that is registered as its role describes.
func NewClient(r need.Role, id, secret string) *Client {
	return &Client{ID: id, Secret: secret, RedirectURIs: r.RedirectURIs, PostLogoutRedirectURIs: r.AfterLogout, Role: r.Name}
}

// Credentials authenticates the client by its registered method.
func (c *Client) Credentials() wire.Auth { return c.With(c.Secret) }

// With does the same with another secret.
func (c *Client) With(secret string) wire.Auth {
	switch c.Auth {
	case need.SecretPost:
		return wire.InBody(c.ID, secret)
	case need.NoAuthentication:
		return wire.InBody(c.ID, "")
	}
	return wire.Basic(c.ID, secret)
}

// RedirectURI returns the first redirect URI, or "".
func (c *Client) RedirectURI() string {
	if len(c.RedirectURIs) == 0 {
		return ""
	}
	return c.RedirectURIs[0]
}

func (c *Client) check(role need.Need) error {
	as, known := need.RoleOf(role)
	if !known {
		return fmt.Errorf("there is no such role: use %s", need.Names(need.Roles()))
	}
	if c == nil || c.ID == "" {
		return errors.New("id is missing")
	}
	if c.Auth == "" {
		c.Auth = need.SecretBasic
		if c.Secret == "" {
			c.Auth = need.NoAuthentication
		}
	}
	switch {
	case !slices.Contains([]string{need.SecretBasic, need.SecretPost, need.NoAuthentication}, c.Auth):
		return fmt.Errorf("auth: %q is not supported; use client_secret_basic, client_secret_post or none", c.Auth)
	case (c.Auth == need.NoAuthentication) != (c.Secret == ""):
		return fmt.Errorf("auth %s and secret contradict each other", c.Auth)
	}
	for _, uri := range c.RedirectURIs {
		_, err := url.Parse(uri)
		if err != nil {
			return fmt.Errorf("redirect_uris: %q is not a URI", uri)
		}
	}
	return c.fits(as)
}

// fits returns an error if the client lacks something that its role needs.
func (c *Client) fits(r need.Role) error {
	switch {
	case r.Public && c.Secret != "":
		return fmt.Errorf("secret must be removed: the role is %s", r.Is)
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
