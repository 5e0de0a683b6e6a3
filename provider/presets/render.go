package presets

import (
	"bytes"
	"embed"
	"fmt"
	"net/url"
	"strings"
	"text/template"
)

// settingsFiles contains the settings of each program, as a template with the values of an application. Its actions
// stand between << and >>, because some programs have templates of their own.
//
//go:embed settings/*.txt
var settingsFiles embed.FS

// Endpoints are the addresses of the server that programs without discovery need.
type Endpoints struct{ Authorize, Token, UserInfo, Keys, Logout, Device string }

// Values are what settings contain of an application and of the server.
type Values struct {
	Issuer                 string
	Endpoints              Endpoints
	ClientID, ClientSecret string // no secret: a public application
	Address                string
	Redirects, PostLogout  []string
	Scopes                 []string
	Random                 string // 32 random characters, for a secret of the program itself
}

// Discovery is the address of the metadata (OIDC Discovery §4).
func (v Values) Discovery() string { return v.Issuer + "/.well-known/openid-configuration" }

// Redirect is the redirect URI that the settings name.
func (v Values) Redirect() string { return first(v.Redirects) }

// AfterLogout is the post-logout redirect URI that the settings name.
func (v Values) AfterLogout() string { return first(v.PostLogout) }

// Path is the path of the address: "/" if it has none.
func (v Values) Path() string {
	u, err := url.Parse(v.Address)
	if err != nil || u.Path == "" {
		return "/"
	}
	return u.EscapedPath()
}

// Below is the path of the redirect URI below the address, for frameworks that know their address.
func (v Values) Below() string {
	u, err := url.Parse(v.Redirect())
	if err != nil {
		return "/"
	}
	return u.EscapedPath()
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// Unquotable returns the name of a value that settings cannot contain as it is, or "".
func (v Values) Unquotable() string {
	for _, one := range []struct{ name, value string }{{"client_id", v.ClientID}, {"client_secret", v.ClientSecret},
		{"issuer", v.Issuer}, {"scope", strings.Join(v.Scopes, "")}, {"redirect_uris", strings.Join(v.Redirects, "")},
		{"post_logout_redirect_uris", strings.Join(v.PostLogout, "")}} {
		if !plain(one.value) {
			return one.name
		}
	}
	return ""
}

// plain reports whether a value means the same in each format without quoting: no space, quote, backslash, dollar,
// comma, hash, percent, semicolon or control character.
func plain(value string) bool {
	for _, c := range value {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("-._~:/+=@[]?", c) {
			return false
		}
	}
	return true
}

// text returns the template of the program's settings.
func (p Program) text() string {
	text, err := settingsFiles.ReadFile("settings/" + p.Name + ".txt")
	if err != nil {
		return "" // a test requires a file for each row
	}
	return string(text)
}

// Settings returns what belongs into the settings of the program.
func (p Program) Settings(v Values) (string, error) {
	if name := v.Unquotable(); name != "" {
		return "", fmt.Errorf("settings cannot contain the value of %s without quoting", name)
	}
	t, err := template.New(p.Name).Delims("<<", ">>").Option("missingkey=error").
		Funcs(template.FuncMap{"join": strings.Join, "quoted": quoted, "without": without}).Parse(p.text())
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, v)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()) + "\n", nil
}

// quoted is a list of texts in double quotes, with commas between: in YAML, JSON, Python, JavaScript, Ruby and Go.
func quoted(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return `"` + strings.Join(list, `", "`) + `"`
}

// without returns a list without one of its texts.
func without(list []string, text string) []string {
	var kept []string
	for _, one := range list {
		if one != text {
			kept = append(kept, one)
		}
	}
	return kept
}
