package target

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// usualAuth returns the method of a client whose file names none.
func (c *Client) usualAuth() string {
	switch {
	case c.JWK != nil:
		return need.PrivateKeyJWT
	case c.CertificateFile != "":
		return need.CertificateAuth
	case c.Secret != "":
		return need.SecretBasic
	}
	return need.NoAuthentication
}

// credentials names the key of the file that each method needs.
var credentials = map[string]string{need.SecretBasic: "secret", need.SecretPost: "secret", need.SecretJWT: "secret",
	need.PrivateKeyJWT:   "jwk",
	need.CertificateAuth: "certificate", need.SelfSignedAuth: "certificate"}

// Credential names the key of the file that has the credentials of the client, or returns "".
func (c *Client) Credential() string {
	if c.Auth == "" && c.Secret != "" {
		return "secret"
	}
	return credentials[c.Auth]
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
		c.Auth = c.usualAuth()
	}
	if c.Binding == "" && (need.ByCertificate(c.Auth) || as.Profile != "" && c.CertificateFile != "") {
		c.Binding = need.BoundToCertificate
	}
	err := c.checkAuth(as)
	if err != nil {
		return err
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
	case r.Public && c.Auth != need.NoAuthentication:
		return fmt.Errorf("secret must be removed: the role is %s", r.Is)
	case !r.Public && c.Auth == need.NoAuthentication:
		return fmt.Errorf("secret is missing: the role is %s", r.Is)
	case r.AuthMethods() != nil && !slices.Contains(r.AuthMethods(), c.Auth):
		return fmt.Errorf("auth must be %s: the role is %s", strings.Join(r.AuthMethods(), " or "), r.Is)
	case len(r.RedirectURIs) > 0 && len(c.RedirectURIs) == 0:
		return errors.New("redirect_uris is missing")
	case len(c.RedirectURIs) < len(r.RedirectURIs):
		return fmt.Errorf("redirect_uris needs %d", len(r.RedirectURIs))
	case len(r.AfterLogout) > 0 && len(c.PostLogoutRedirectURIs) == 0:
		return errors.New("post_logout_redirect_uris is missing")
	}
	return nil
}

// wants returns the keys of the file that the client of a role must have, and why. It may have no others.
func (c *Client) wants(r need.Role) map[string]string {
	all := map[string]string{}
	if c.Binding == need.BoundToCertificate {
		all["certificate"] = "binding " + c.Binding
	}
	if r.Profile == need.ProfileMessages {
		all["jwk"] = "the client, which signs request objects,"
	}
	if key := credentials[c.Auth]; key != "" {
		all[key] = "auth " + c.Auth
	}
	return all
}

// checkAuth reads the credentials of the client, and returns an error if they do not fit its method and its role.
func (c *Client) checkAuth(r need.Role) error {
	if !slices.Contains(need.Methods(), c.Auth) {
		return fmt.Errorf("auth: %q is not supported; use %s", c.Auth, strings.Join(need.Methods(), ", "))
	}
	switch bindings := []string{need.BoundToKey, need.BoundToCertificate}; {
	case c.Binding != "" && !slices.Contains(bindings, c.Binding):
		return fmt.Errorf("binding: %q is not supported; use %s", c.Binding, strings.Join(bindings, " or "))
	case c.Binding == need.BoundToKey && r.Profile == "", c.Binding != "" && r.Profile == "" &&
		!need.ByCertificate(c.Auth):
		return errors.New("binding must be removed: only the clients of FAPI 2.0 have it")
	}
	wants := c.wants(r)
	for _, has := range []struct {
		name string
		is   bool
	}{{"secret", c.Secret != ""}, {"jwk", c.JWK != nil}, {"certificate", c.CertificateFile != ""}} {
		switch {
		case has.is && wants[has.name] == "":
			return fmt.Errorf("auth %s and %s contradict each other: remove one of them", c.Auth, has.name)
		case !has.is && wants[has.name] != "":
			return fmt.Errorf("%s is missing: %s needs it", has.name, wants[has.name])
		}
	}
	if (c.CertificateFile == "") != (c.KeyFile == "") {
		return errors.New("needs both certificate and key, or none of them")
	}
	if c.JWK != nil {
		err := c.readKey()
		if err != nil {
			return err
		}
	}
	if c.CertificateFile != "" {
		return c.readCertificate()
	}
	return nil
}

// readKey reads the private key.
func (c *Client) readKey() error {
	jwk, is := c.JWK.(map[string]any)
	if file, named := c.JWK.(string); named {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("jwk: %v", err) // not the target file is missing
		}
		if bytes.Contains(text, []byte("-----BEGIN ")) {
			return fmt.Errorf("jwk: %s is a PEM file: convert it to a private JWK in JSON, as docs/check-a-server.md shows",
				file)
		}
		is = json.Unmarshal(text, &jwk) == nil && jwk != nil
	}
	switch {
	case is && jwk["keys"] != nil: // RFC 7517 §5
		return errors.New("jwk: this is a JWK Set: name one private JWK, without keys around it")
	case !is:
		return errors.New("jwk: is neither a JWK, such as {kty: EC, crv: P-256, x: ..., y: ..., d: ...}, nor the name of a " +
			"file that contains one in JSON")
	}
	key, err := jose.ReadKey(jwk)
	if err != nil {
		return fmt.Errorf("jwk: %w", err)
	}
	c.Signer = key
	return nil
}

// readCertificate reads the certificate and its private key.
func (c *Client) readCertificate() error {
	pair, err := tls.LoadX509KeyPair(c.CertificateFile, c.KeyFile)
	if err != nil {
		return fmt.Errorf("certificate and key: %v", err) // not the target file is missing
	}
	pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	c.Certificate = &pair
	return err
}
