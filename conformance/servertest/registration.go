package servertest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"mandate/conformance/need"
	"mandate/conformance/target"
)

// initialToken makes an initial access token, with which checks register clients.
func (s *Server) initialToken() (string, error) {
	out, err := s.CLI("", "registration-token", "add", "--json", "--uses", "10000", "--may",
		"authorization_code,client_credentials")
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
	for flag, on := range map[string]bool{"--client-type=public": r.Public, "--may-introspect": r.Introspects,
		"--pairwise":              r.Pairwise,
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
	return c, s.add(role, c, backchannel)
}

// add registers a client at the server, and completes it.
func (s *Server) add(role need.Role, c *target.Client, backchannel string) error {
	arguments := append([]string{"application", "add", "--json"}, flags(role, backchannel)...)
	more, err := s.authentication(role, c)
	if err != nil {
		return err
	}
	arguments = append(arguments, more...)
	for _, scope := range []string{"read", "write", "groups", "openid", "profile", "email", "address", "phone",
		"offline_access"} {
		arguments = append(arguments, "--scope", scope)
	}
	out, err := s.CLI("", arguments...)
	if err != nil {
		return err
	}
	var made struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err = json.Unmarshal([]byte(out), &made)
	c.ID, c.Secret = made.ID, made.Secret
	return err
}

// authentication returns the flags for the client authentication of a role, and completes the client.
func (s *Server) authentication(role need.Role, c *target.Client) ([]string, error) {
	var flags []string
	var keys []any
	if need.ByCertificate(role.Auth) || c.Binding == need.BoundToCertificate {
		certificate, err := s.clients.issue(c)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--sender-constraint", "certificate")
		if role.Auth == need.SelfSignedAuth {
			keys = append(keys, certifiedKey(certificate))
		}
	}
	if c.Signer != nil {
		keys = append(keys, c.Signer.Public())
	}
	switch role.Auth {
	case "":
	case need.CertificateAuth:
		flags = append(flags, "--certificate-subject", "san_dns="+subject(c))
	default:
		flags = append(flags, "--auth-method", role.Auth)
	}
	if keys == nil {
		return flags, nil
	}
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, string(role.Name)+"-"+role.Auth+".jwks")
	return append(flags, "--jwks", file), os.WriteFile(file, text, 0o600)
}

// WithCertificates adds a client for each role of FAPI 2.0 whose tokens are bound to a certificate, and that
// authenticates by a method. It returns a target with these clients.
func (s *Server) WithCertificates(of *target.Target, method string) (*target.Target, error) {
	t := *of
	t.Clients = maps.Clone(of.Clients)
	for _, role := range need.Roles() {
		if role.Profile == "" {
			continue
		}
		role.Auth = method
		c := target.NewClient(role, "", "")
		c.Binding = need.BoundToCertificate
		err := s.add(role, c, "")
		if err != nil {
			return nil, err
		}
		t.Clients[role.Name] = c
	}
	return &t, t.Check()
}
