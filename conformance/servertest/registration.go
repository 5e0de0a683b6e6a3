package servertest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// initialToken makes an initial access token, with which checks register clients.
func (s *Server) initialToken() (string, error) {
	out, err := s.CLI("", "registration-token", "add", "--json", "--uses", "10000", "--may", "authorization_code,client_credentials")
	var made struct{ Token string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &made)
	}
	return made.Token, err
}

// flags returns the flags of `application add` for the client of a role.
func flags(r need.Role, backchannel string) []string {
	f := []string{"--name", "conformance " + string(r.Name), "--grant", r.Grant}
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				f = append(f, name, value)
			}
		}
	}
	add("--redirect-uri", r.RedirectURIs...)
	add("--post-logout-redirect-uri", r.AfterLogout...)
	add("--algorithm", r.IDTokenAlgorithm)
	add("--userinfo-algorithm", r.UserInfoAlgorithm)
	add("--profile", r.Profile)
	if r.Backchannel {
		add("--backchannel-logout-uri", "http://"+backchannel+"/logout")
	}
	if r.Machine {
		add("--grant", need.GrantMachine)
	}
	if r.SignedAccess {
		add("--access-token-format", "jwt")
	}
	for flag, on := range map[string]bool{"--client-type=public": r.Public, "--may-introspect": r.Introspects, "--pairwise": r.Pairwise,
		"--no-hash-client-secret": r.IDTokenAlgorithm == "HS256" || r.Auth == need.SecretJWT} {
		if on {
			f = append(f, flag)
		}
	}
	return f
}

// Register adds the client of a role.
func (s *Server) Register(role need.Role, backchannel string) (*target.Client, error) {
	c := target.NewClient(role, "", "")
	arguments := append([]string{"application", "add", "--json"}, flags(role, backchannel)...)
	more, err := s.authentication(role, c)
	if err != nil {
		return nil, err
	}
	arguments = append(arguments, more...)
	for _, scope := range []string{"read", "write", "groups", "openid", "profile", "email", "address", "phone", "offline_access"} {
		arguments = append(arguments, "--scope", scope)
	}
	out, err := s.CLI("", arguments...)
	if err != nil {
		return nil, err
	}
	var made struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err = json.Unmarshal([]byte(out), &made)
	c.ID, c.Secret = made.ID, made.Secret
	return c, err
}

// authentication returns the flags for the client authentication of a role, and completes the client.
func (s *Server) authentication(role need.Role, c *target.Client) ([]string, error) {
	switch role.Auth {
	case "":
		return nil, nil
	case need.CertificateAuth:
		flags := []string{"--certificate-subject", "san_dns=" + subject(c), "--sender-constraint", "certificate"}
		err := s.clients.issue(c)
		if err != nil || role.Profile != need.ProfileMessages {
			return flags, err
		}
		c.Signer = jose.NewKey("PS256") // it signs request objects
		c.JWK = c.Signer.Private()
		file, err := s.keyFile(c)
		return append(flags, "--jwks", file), err
	case need.SecretJWT:
		return []string{"--auth-method", role.Auth}, nil
	}
	file, err := s.keyFile(c)
	return []string{"--auth-method", role.Auth, "--jwks", file}, err
}

// keyFile writes the public key of a client to a file, and returns its name.
func (s *Server) keyFile(c *target.Client) (string, error) {
	keys, err := json.Marshal(c.Keys())
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, c.Signer.ID+".jwks")
	return file, os.WriteFile(file, keys, 0o600)
}

// certified adds a client for each role of FAPI 2.0 that authenticates with a certificate, to which its tokens are bound.
// It returns the target with these clients.
func (s *Server) certified(of *target.Target) (*target.Target, error) {
	t := *of
	t.Clients = maps.Clone(of.Clients)
	for _, role := range need.Roles() {
		if role.Profile == "" {
			continue
		}
		role.Auth = need.CertificateAuth
		c, err := s.Register(role, "")
		if err != nil {
			return nil, err
		}
		t.Clients[role.Name] = c
	}
	return &t, t.Check()
}
