// Package target is the file that names the server under test, and the person and clients that the checks may use.
package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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

// Target names the server under test, and what the checks may use. It is written as YAML.
type Target struct {
	// Issuer is the server's issuer identifier. The metadata is found from it.
	Issuer string `yaml:"issuer"`
	// Endpoints by their names in the metadata, for endpoints that the metadata does not list.
	Endpoints map[string]string `yaml:"endpoints,omitempty"`
	// Origins are further origins of the server's own pages, such as https://login.example.org.
	Origins []string `yaml:"origins,omitempty"`
	// User can sign in at the server.
	User User `yaml:"user,omitempty"`
	// Clients by their roles.
	Clients map[need.Need]*Client `yaml:"clients,omitempty"`
	// Register says whether missing clients are registered (RFC 7591).
	Register           Registering `yaml:"register,omitempty"`
	InitialAccessToken string      `yaml:"initial_access_token,omitempty"`
	// Scope is the scope of the authorization requests. If it is empty, the server chooses.
	Scope string `yaml:"scope,omitempty"`
	// Parameters are added to each authorization request, such as prompt: consent where the server issues refresh
	// tokens only with it.
	Parameters map[string]string `yaml:"parameters,omitempty"`
	// API is a resource that accepts the server's access tokens.
	API API `yaml:"api,omitempty"`
	// Resources are at least two resources that a request can name (RFC 8707).
	Resources []Resource `yaml:"resources,omitempty"`
	// Backchannel is the host:port on which the run listens for logout tokens. It is left out if the server cannot
	// send requests to this machine (OIDC Back-Channel §2.5).
	Backchannel string `yaml:"backchannel,omitempty"`
	// Documents says where the run serves metadata documents of clients. It is left out if the server cannot fetch them
	// from this machine.
	Documents Documents `yaml:"documents,omitempty"`
	// Forms name the fields and buttons of pages on which the browser does not find them.
	Forms browser.Hints `yaml:"forms,omitempty"`
}

// Documents says where the run serves metadata documents of clients, which have https URLs.
type Documents struct {
	Listen string `yaml:"listen"`        // host:port on this machine
	URL    string `yaml:"url,omitempty"` // how the server reaches it; if it is empty, https://LISTEN
	// Certificate and Key are the PEM files for TLS. The server must trust the certificate. Without them a proxy at URL
	// does TLS.
	Certificate string `yaml:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty"`
	// Scope is the scope of the requests of these clients. It replaces the target's scope if they may not have all of it.
	Scope string `yaml:"scope,omitempty"`
}

// Address returns the URL of the host, without a path.
func (d Documents) Address() string {
	if d.URL != "" {
		return strings.TrimSuffix(d.URL, "/")
	}
	return "https://" + d.Listen
}

func (d Documents) check() error {
	if d == (Documents{}) {
		return nil
	}
	err := CheckListen(d.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("documents: listen: %w", err)
	case (d.Certificate == "") != (d.Key == ""):
		return errors.New("documents: needs both certificate and key, or none of them")
	case d.Certificate == "" && d.URL == "":
		return errors.New("documents: needs certificate and key, or the url of a proxy that does TLS")
	}
	at, err := url.Parse(d.Address())
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || at.Path != "" || at.RawQuery != "" ||
		at.Fragment != "" {
		return fmt.Errorf("documents: url: %q is not https://host or https://host:port", d.URL)
	}
	return nil
}

// User can sign in at the server.
type User struct {
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// API is a resource that accepts the server's access tokens.
type API struct {
	URL        string `yaml:"url"`             // answers GET with any access token
	Restricted string `yaml:"wider,omitempty"` // answers GET only with a token that has Scope
	Scope      string `yaml:"scope,omitempty"`
	Certified  string `yaml:"mtls_origin,omitempty"` // where it asks for certificates, if it does so at another origin
	Resource   string `yaml:"resource,omitempty"`    // its identifier (RFC 9728), if it differs from URL
}

// Registering says whether the clients that a target lacks are registered, and for how long. The zero value is: never.
type Registering string

const (
	Once  Registering = "true"  // for a run, and they are deleted after it (RFC 7592)
	Reuse Registering = "reuse" // for all later runs too: for servers where nobody can delete them
)

// UnmarshalYAML reads true, false or reuse.
func (r *Registering) UnmarshalYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.ScalarNode && node.Value == string(Reuse):
		*r = Reuse
		return nil
	case node.ShortTag() == "!!bool":
		var on bool
		err := node.Decode(&on)
		if *r = ""; on {
			*r = Once
		}
		return err
	}
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: register must be true, false or reuse", node.Line)}}
}

// MarshalYAML writes true, and not a text.
func (r Registering) MarshalYAML() (any, error) {
	if r == Once {
		return true, nil
	}
	return string(r), nil
}

// Resource is an API that the clients code and machine may name in the parameter resource. The client introspection may
// introspect the tokens for it.
type Resource struct {
	URI   string `yaml:"uri"`
	Scope string `yaml:"scope,omitempty"` // a scope that only this resource has
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
		return nil, errors.New("contains more than one document")
	}
	return t, t.Check()
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongKind    = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into (\\S+)")
)

// plainYAML removes Go's type names from the decoder's messages.
func plainYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	var lines []string
	for line := range strings.Lines(text) {
		line = unknownField.ReplaceAllString(strings.TrimSpace(line), "unknown key $1")
		lines = append(lines, wrongKind.ReplaceAllStringFunc(line, func(found string) string {
			part := wrongKind.FindStringSubmatch(found)
			return fmt.Sprintf("must be %s, not %s", goKind(part[2]), yamlKind(part[1]))
		}))
	}
	if strings.Contains(text, "cannot start any token") {
		lines = append(lines, "indent YAML with spaces, and put text that begins with a special character in quotes")
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

// Check returns an error that names the first mistake in the target.
func (t *Target) Check() error {
	if t.Issuer == "" {
		return errors.New("issuer is missing")
	}
	err := CheckURL("issuer", t.Issuer)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Endpoints)) {
		if !slices.Contains(need.Endpoints(), need.Need(name)) {
			return fmt.Errorf("endpoints: %s: there is no such endpoint: use %s", name, need.Join(need.Endpoints()))
		}
		err := CheckURL("endpoints: "+name, t.Endpoints[name])
		if err != nil {
			return err
		}
	}
	for _, address := range slices.Concat(t.Origins, []string{t.API.URL, t.API.Restricted, t.API.Certified}) {
		if address == "" {
			continue
		}
		err := CheckURL("origins and api", address)
		if err != nil {
			return err
		}
	}
	if len(t.Resources) == 1 || slices.ContainsFunc(t.Resources, func(r Resource) bool { return r.URI == "" }) {
		return errors.New("resources: name at least two, each with its uri")
	}
	err = Optional(CheckListen)(t.Backchannel)
	if err != nil {
		return fmt.Errorf("backchannel: %w", err)
	}
	err = t.Documents.check()
	if err != nil {
		return err
	}
	for _, role := range slices.Sorted(maps.Keys(t.Clients)) {
		c := t.Clients[role]
		err := c.check(role)
		if err != nil {
			return fmt.Errorf("clients: %s: %w", role, err)
		}
		c.Role, c.Audience = role, t.Issuer
	}
	if (t.User.Username == "") != (t.User.Password == "") {
		return errors.New("user: needs both username and password")
	}
	return nil
}

// CheckURL returns an error if an address is no http or https URL.
func CheckURL(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%s: %q is not an http or https URL", what, address)
	}
	return nil
}

// Write writes the target to a file that only its owner can read, since it holds secrets.
func (t *Target) Write(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(t.Encode(file), file.Close())
}

// Encode writes the target as YAML.
func (t *Target) Encode(to io.Writer) error {
	text, err := yaml.Marshal(t)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
}

// Optional makes a check accept an empty text.
func Optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

// CheckListen returns an error if a text is not host:port.
func CheckListen(text string) error {
	_, _, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not host:port", text)
	}
	return nil
}
