package presets

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Filled contains the URIs of a program at an address.
type Filled struct {
	Address     string // without a slash at its end; empty: the program has none
	Redirects   []string
	PostLogout  []string
	BackChannel string
}

// NeedsAddress reports whether a URI of the program begins with its address.
func (p Program) NeedsAddress() bool {
	for _, uri := range append(append([]string{p.BackChannel}, p.Redirects...), p.PostLogout...) {
		if strings.HasPrefix(uri, "/") {
			return true
		}
	}
	return strings.Contains(p.text(), ".Address")
}

// Fill returns the URIs of the program at an address.
func (p Program) Fill(address string) (Filled, error) {
	var filled Filled
	var err error
	switch {
	case address != "":
		filled.Address, err = Address(address)
		if wrong := p.wrongPart(address); err == nil && wrong != "" {
			err = errors.New(wrong)
		}
	case p.NeedsAddress():
		err = errors.New("It is missing: " + p.describedAddress() + ".")
	}
	if err != nil {
		return Filled{}, err
	}
	complete := func(uri string) string { // "/." is the address itself, without a slash
		if strings.HasPrefix(uri, "/") {
			return filled.Address + strings.TrimSuffix(uri, "/.")
		}
		return uri
	}
	for _, uri := range p.Redirects {
		filled.Redirects = append(filled.Redirects, complete(uri))
	}
	for _, uri := range p.PostLogout {
		filled.PostLogout = append(filled.PostLogout, complete(uri))
	}
	filled.BackChannel = complete(p.BackChannel)
	return filled, nil
}

// describedAddress says what the address of the program is, with an example.
func (p Program) describedAddress() string {
	if p.Address != "" {
		return p.Address
	}
	return fmt.Sprintf("the address of %s, such as https://%s.example.org", p.Title, p.Name)
}

// Example is an address of the program.
func (p Program) Example() string {
	_, address, _ := strings.Cut(p.describedAddress(), ", such as ")
	return address
}

var (
	inRealm  = regexp.MustCompile(`/realms/[^/]+/*$`)
	withPort = regexp.MustCompile(`:[0-9]+(/|$)`)
)

// pages end the addresses that people copy from a browser: there is a page of the program, and not the program.
var pages = []string{
	"login",
	"log-in",
	"log_in",
	"signin",
	"sign-in",
	"sign_in",
	"logout",
	"callback",
	"index.html",
	"index.php",
}

// wrongPart says what an address lacks that the program needs, or has too much, or returns "".
func (p Program) wrongPart(raw string) string {
	raw = strings.ToLower(strings.TrimRight(strings.TrimSpace(raw), "/"))
	_, afterScheme, _ := strings.Cut(raw, "//")
	_, below, _ := strings.Cut(afterScheme, "/")
	switch {
	case p.endsInOwn("/" + below), slices.Contains(pages, path.Base(below)):
		return "It ends in a page of the program: leave that out, and write only the address at which the program begins."
	case p.Part == Realm && !inRealm.MatchString(raw):
		return "It must be the address of the realm, such as https://keycloak.example.org/realms/company."
	case p.Part == Port && !withPort.MatchString(raw):
		return "It must have its port, such as https://pve.example.org:8006. Behind a proxy without a port, write :443."
	}
	return ""
}

// endsInOwn reports whether a path ends in one that the program has for the server.
func (p Program) endsInOwn(below string) bool {
	return slices.ContainsFunc(
		slices.Concat(p.Redirects, p.PostLogout, []string{p.BackChannel}),
		func(uri string) bool {
			uri, _, _ = strings.Cut(uri, "?")
			uri = strings.TrimRight(strings.ToLower(uri), "/.")
			return strings.HasPrefix(uri, "/") && strings.HasSuffix(below, uri)
		},
	)
}

// AddressIn returns the address of the program with these redirect URIs, and false if they are others than its own.
func (p Program) AddressIn(redirects []string) (string, bool) {
	if !p.NeedsAddress() {
		return "", true
	}
	for _, own := range p.Redirects {
		for _, uri := range redirects {
			address, below := strings.CutSuffix(uri, strings.TrimSuffix(own, "/."))
			if made, err := Address(address); strings.HasPrefix(own, "/") && below && err == nil && made == address {
				return address, true
			}
		}
	}
	return "", false
}

// Address returns the one spelling of the address of a program: without a slash at its end and without the port that
// its scheme has anyway.
func Address(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err != nil {
		u = nil
	}
	if wrong := wrongAddress(raw, u); wrong != "" {
		return "", errors.New(wrong)
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

const notHTTP = "It must begin with https://, or with http:// on this computer or in a private network."

// wrongAddress says what is wrong with an address, or returns "". u is nil if it cannot be parsed.
func wrongAddress(raw string, u *url.URL) string {
	switch {
	case !strings.Contains(raw, "//"):
		return notHTTP
	case u == nil:
		return "It is not an address, such as https://grafana.example.org."
	case u.Scheme != "https" && u.Scheme != "http":
		return notHTTP
	case u.Hostname() == "":
		return "It has no host, such as grafana.example.org."
	case u.User != nil:
		return "It must not contain a name or a password."
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(raw, "#"):
		return "It must not contain ? or #: only the address at which the program begins."
	}
	below := strings.TrimRight(u.EscapedPath(), "/")
	switch {
	case below != "" && (path.Clean(below) != below || strings.Contains(strings.ToLower(below), "%2e")):
		return "It must not contain . or .. or an empty part in its path."
	case !plain(u.Host + below):
		return "It contains a character that settings cannot contain without quoting: write the name of the host in ASCII " +
			"(punycode), and leave out others."
	}
	return ""
}
