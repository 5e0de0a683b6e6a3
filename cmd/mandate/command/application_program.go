package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/presets"
)

// programFlags name the program that an application is registered for.
type programFlags struct{ name, url string }

func (f *programFlags) add(c *cobra.Command) {
	c.Flags().StringVar(
		&f.name, "for", "",
		"`PROGRAM` that it is for: the other flags then have suitable values, and its settings are printed; mandate "+
			"application programs lists all",
	)
	c.Flags().StringVar(&f.url, "url", "", "`URL` at which people open the program, for --for")
}

// named reports whether a program is named.
func (f *programFlags) named() bool { return f.name != "" }

// check requires a known program. An unknown name gets the names that are near.
func (f *programFlags) check(c *cobra.Command) error {
	changed := c.Flags().Changed
	program, known := presets.Find(f.name)
	near := presets.Near(f.name)
	const all = "mandate application programs lists all; website, spa, native, device and service are for others"
	switch {
	case !f.named() && changed("for"):
		return wrongUsage("--for: name a program: %s", all)
	case !f.named() && changed("url"):
		return wrongUsage("--url: name the program with --for, or use --redirect-uri")
	case !f.named():
		return nil
	case !known && len(near) > 0:
		return wrongUsage("--for: there is no program %q. Did you mean %s? %s", f.name, strings.Join(near, ", "), all)
	case !known:
		return wrongUsage("--for: there is no program %q: %s", f.name, all)
	case changed("url") && len(program.Redirects) == 0 && program.Grant == "":
		return wrongUsage(
			"--url: it has no effect for %s: say with --redirect-uri which page receives the authorization code, and with "+
				"--name how people see it",
			program.Name,
		)
	case changed("url") && !program.NeedsAddress():
		return wrongUsage("--url: it has no effect for %s, which has no address: leave it out", program.Name)
	case len(program.Redirects) == 0 && program.Grant == "" && !changed("redirect-uri"):
		return wrongUsage("--redirect-uri is missing: the page of the program that receives the authorization code; " +
			"its documentation calls it redirect or callback URL")
	}
	return nil
}

// fill returns what the program needs. Without a program it is empty.
func (f *programFlags) fill(of *provider.Provider) (provider.ForProgram, error) {
	if !f.named() {
		return provider.ForProgram{}, nil
	}
	program, _ := presets.Find(f.name)
	return of.ForProgram(policy.Operator(), program, f.url)
}

// settingsView is what belongs into the settings of the program that an application was registered for.
type settingsView struct {
	Program  string   `json:"program"`
	File     string   `json:"file"`
	Format   string   `json:"format"`
	Text     string   `json:"text"`
	Notes    []string `json:"notes"`
	Verified string   `json:"verified,omitempty"`
}

// refuseAgain refuses to register a program a second time: whoever repeats the command has lost the settings.
func (f *programFlags) refuseAgain(ctx context.Context, of *provider.Provider, preset provider.ForProgram) error {
	if !f.named() || preset.Address == "" {
		return nil
	}
	was, err := of.SameProgram(ctx, policy.Operator(), preset.Registration)
	if errors.Is(err, oauth.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf(
		"%s at %s is registered already, with the client ID %s. To print its settings again, with a new secret: mandate "+
			"application rotate-secret %s. To register a second one, give it another name with --name",
		preset.Program.Title,
		preset.Address,
		was.ClientID,
		argumentOf(was.ClientID),
	)
}

// argumentOf is a client ID as an argument of a command that a person can copy.
func argumentOf(id string) string {
	if strings.HasPrefix(id, "-") {
		return "-- " + id
	}
	return id
}

// settingsAgain are the settings of an application after its secret was replaced, or nil if it was registered for no
// program.
func settingsAgain(of *provider.Provider, made *clients.Registered) (*settingsView, error) {
	found, err := of.ProgramSettings(made.Application, made.Secret)
	if err != nil || found == nil {
		return nil, err
	}
	return viewText(found.Program, found.Text, found.Notes), nil
}

func viewSettings(of *provider.Provider, preset provider.ForProgram, made *clients.Registered) (*settingsView, error) {
	text, err := of.SettingsOf(preset, made.Application.ClientID, made.Secret)
	if err != nil {
		return nil, err
	}
	return viewText(preset.Program, text, preset.Notes), nil
}

func viewText(program presets.Program, text string, notes []string) *settingsView {
	return &settingsView{Program: program.Name, File: program.File, Format: string(program.Format), Text: text,
		Notes: append([]string{}, notes...), Verified: program.Verified.String()}
}

// has reports whether the settings contain a value.
func (v *settingsView) has(value string) bool { return v != nil && strings.Contains(v.Text, value) }

// write shows the settings to a person, so that they can be copied.
func (v *settingsView) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\nSettings of %s (%s):\n\n%s\n", v.Program, v.File, v.Text)
	if err != nil {
		return err
	}
	notes := v.Notes
	if v.Verified != "" {
		notes = append(notes, "Verified: "+v.Verified+".")
	}
	for _, note := range notes {
		_, err = fmt.Fprintln(w, "- "+note)
		if err != nil {
			return err
		}
	}
	return nil
}

// programView is a row of the table of programs.
type programView struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Kind        string   `json:"kind"`
	Address     string   `json:"address,omitempty"`
	ClientType  string   `json:"client_type"`
	Redirects   []string `json:"redirect_uris"`
	PostLogout  []string `json:"post_logout_redirect_uris"`
	BackChannel string   `json:"backchannel_logout_uri,omitempty"`
	Scopes      []string `json:"scopes"`
	PKCE        string   `json:"pkce,omitempty"`
	Claims      string   `json:"claims_in_id_token,omitempty"`
	AuthMethod  string   `json:"auth_method,omitempty"`
	File        string   `json:"file"`
	Format      string   `json:"format"`
	Since       string   `json:"since,omitempty"`
	Notes       []string `json:"notes"`
	Verified    string   `json:"verified,omitempty"`
}

func viewProgram(p presets.Program) programView {
	v := programView{
		Name:        p.Name,
		Title:       p.Title,
		Kind:        p.Kind,
		Address:     p.Address,
		ClientType:  policy.Confidential,
		Redirects:   append([]string{}, p.Redirects...),
		PostLogout:  append([]string{}, p.PostLogout...),
		BackChannel: p.BackChannel,
		Scopes:      append([]string{}, p.Scopes...),
		PKCE:        p.PKCE,
		Claims:      p.Claims,
		AuthMethod:  p.AuthMethod,
		File:        p.File,
		Format:      string(p.Format),
		Since:       p.Since,
		Notes:       append([]string{}, p.Notes...),
		Verified:    p.Verified.String(),
	}
	if p.Public {
		v.ClientType = policy.Public
	}
	return v
}

func (p *program) applicationProgramsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "programs", Short: "List the programs that --for of application add knows", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			views, rows := []programView{}, [][]string{{"NAME", "PROGRAM", "SETTINGS", "VERIFIED"}}
			for _, known := range presets.Programs() {
				v := viewProgram(known)
				views, rows = append(views, v), append(rows, []string{v.Name, v.Title, v.Format, v.Verified})
			}
			if asJSON {
				return writeJSON(p.Stdout, views)
			}
			return writeTable(p.Stdout, rows)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
