package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mandate/conformance/browser"
	"mandate/conformance/need"
)

// Target says which server is checked and what it may be checked with. It is written as YAML.
type Target struct {
	// Issuer is the identifier of the server; its metadata is found from there.
	Issuer string `yaml:"issuer"`
	// Endpoints by their names in the metadata, where the metadata does not tell them.
	Endpoints map[string]string `yaml:"endpoints,omitempty"`
	// Origins are further ones that the server's own pages live at, such as https://login.example.org.
	Origins []string `yaml:"origins,omitempty"`
	// User is somebody who can sign in.
	User User `yaml:"user,omitempty"`
	// Clients by their role.
	Clients map[need.Need]*Client `yaml:"clients,omitempty"`
	// Register has the clients that are missing registered (RFC 7591), and removed afterwards (RFC 7592).
	Register           bool   `yaml:"register,omitempty"`
	InitialAccessToken string `yaml:"initial_access_token,omitempty"`
	// Scope is what an authorization request asks for; empty leaves it to the server.
	Scope string `yaml:"scope,omitempty"`
	// Parameters stand in every authorization request, such as prompt: consent where refresh tokens depend on it.
	Parameters map[string]string `yaml:"parameters,omitempty"`
	// API is a resource that takes the server's access tokens.
	API API `yaml:"api,omitempty"`
	// Backchannel is where logout tokens are listened for, as host:port; it is left out where the server
	// cannot call here (OIDC Back-Channel §2.5).
	Backchannel string `yaml:"backchannel,omitempty"`
	// Forms helps with pages whose forms speak for themselves too little.
	Forms browser.Hints `yaml:"forms,omitempty"`
}

// User is somebody who can sign in.
type User struct {
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// API is a resource that takes the server's access tokens.
type API struct {
	URL   string `yaml:"url"`             // answers GET to whoever has a token
	Wider string `yaml:"wider,omitempty"` // answers GET to a token with Scope only
	Scope string `yaml:"scope,omitempty"`
}

const maxTarget = 1 << 20

// Load reads a target file.
func Load(path string) (*Target, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTarget+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTarget {
		return nil, fmt.Errorf("%s: is larger than a mebibyte", path)
	}
	target, err := parseTarget(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return target, nil
}

func parseTarget(text []byte) (*Target, error) {
	t := &Target{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(t)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("is empty: it needs an issuer")
	}
	if err != nil {
		return nil, plainYAML(err)
	}
	if decoder.Decode(&struct{}{}) != io.EOF {
		return nil, errors.New("holds more than one document")
	}
	return t, t.Check()
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongKind    = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into (\\S+)")
)

// plainYAML takes the words of Go out of what the decoder says.
func plainYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	var lines []string
	for line := range strings.Lines(text) {
		line = unknownField.ReplaceAllString(strings.TrimSpace(line), "unknown key $1")
		lines = append(lines, wrongKind.ReplaceAllStringFunc(line, func(found string) string {
			part := wrongKind.FindStringSubmatch(found)
			return fmt.Sprintf("%s cannot stand here, but %s", yamlKind(part[1]), goKind(part[2]))
		}))
	}
	if strings.Contains(text, "cannot start any token") {
		lines = append(lines, "YAML is indented with spaces, and a text that begins with a sign stands in quotes")
	}
	return errors.New(strings.Join(lines, "; "))
}

func yamlKind(tag string) string {
	switch tag {
	case "map":
		return "keys with values"
	case "seq":
		return "a list"
	}
	return "a single value"
}

func goKind(name string) string {
	switch {
	case name == "bool":
		return "true or false"
	case name == "string":
		return "a text"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	}
	return "keys with values"
}

func (t *Target) Check() error {
	if t.Issuer == "" {
		return errors.New("issuer is missing")
	}
	err := CheckURL("issuer", t.Issuer)
	if err != nil {
		return err
	}
	for name, address := range t.Endpoints {
		err := CheckURL("endpoints: "+name, address)
		if err != nil {
			return err
		}
	}
	for _, address := range slices.Concat(t.Origins, []string{t.API.URL, t.API.Wider}) {
		if address == "" {
			continue
		}
		err := CheckURL("origins and api", address)
		if err != nil {
			return err
		}
	}
	err = Optional(CheckListen)(t.Backchannel)
	if err != nil {
		return fmt.Errorf("backchannel: %w", err)
	}
	for role, c := range t.Clients {
		err := c.check(role)
		if err != nil {
			return fmt.Errorf("clients: %s: %w", role, err)
		}
		c.Role = role
	}
	if (t.User.Username == "") != (t.User.Password == "") {
		return errors.New("user: needs both username and password")
	}
	return nil
}

func CheckURL(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%s: %q is not an http or https URL", what, address)
	}
	return nil
}

// Write writes the target where nobody else can read it: it holds secrets.
func (t *Target) Write(path string) error {
	text, err := yaml.Marshal(t)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func Optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func CheckListen(text string) error {
	_, _, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not host:port", text)
	}
	return nil
}
