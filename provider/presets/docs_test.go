package presets

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestDocs writes a section for each program, with the settings that the command prints.
func TestDocs(t *testing.T) {
	var b strings.Builder
	for _, p := range Programs() {
		section(t, &b, p)
	}
	testkit.DocsBlock(t, "connect-an-application.md", "programs", b.String()+"\n")
}

// typed is what somebody types in a note: pages and the command show notes as they are.
var typed = regexp.MustCompile(`argocd login --sso|--[a-z][a-z-]+( required| on)?|app\.config\["\w+"\]|\w+_\w+(=\w+)?` +
	`|[a-z.]+://[^\s,]*[^\s,:.]|\b[a-z]+[A-Z]\w+\b|\b(admin|root|admins|readwrite|openid profile email|argocd-rbac-cm)\b|\B/o\b|g, admins, role:admin`)

func section(t *testing.T, b *strings.Builder, p Program) {
	t.Helper()
	address, command := "", "mandate application add --for "+p.Name
	if p.NeedsAddress() {
		address = p.Example()
		command += " --url " + address
	}
	filled, err := p.Fill(address)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Redirects) == 0 && p.Grant == "" {
		filled.Redirects = []string{"https://app.example.org/callback"}
		command += " --redirect-uri " + filled.Redirects[0]
	}
	if p.Kind == Other {
		command += ` --name "Web shop"`
	}
	const server = "https://auth.example.org/o"
	text, err := p.Settings(
		Values{
			Issuer:       server,
			ClientID:     "CLIENT_ID",
			ClientSecret: "CLIENT_SECRET",
			Address:      filled.Address,
			Redirects:    filled.Redirects,
			PostLogout:   filled.PostLogout,
			Scopes:       p.Scopes,
			Random:       "RANDOM_TEXT_OF_32_CHARACTERS____",
			Endpoints: Endpoints{
				server + "/authorize/",
				server + "/token/",
				server + "/userinfo/",
				server + "/.well-known/jwks.json",
				server + "/logout/",
				server + "/device_authorization/",
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "\n### %s\n\n    %s\n\n", p.Title, command)
	for _, row := range [][2]string{
		{"Redirect URIs", code(filled.Redirects)},
		{"After a logout", code(filled.PostLogout)},
		{"Back-channel logout", code([]string{filled.BackChannel})},
		{"Client type", kind(p)},
		{"PKCE", code([]string{p.PKCE})},
		{"Claims in the ID token", code([]string{p.Claims})},
		{"Authentication", code([]string{p.AuthMethod})},
		{"`--url`", p.Address},
		{"Version", code([]string{p.Since})},
		{"Verified", p.Verified.String()},
	} {
		if row[1] != "" {
			fmt.Fprintf(b, "- %s: %s\n", row[0], row[1])
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(b, "- %s\n", typed.ReplaceAllString(note, "`$0`"))
	}
	fmt.Fprintf(b, "\nSettings (%s):\n\n", p.File)
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
}

// kind is the client type, if it is not the usual one.
func kind(p Program) string {
	if p.Public {
		return "public"
	}
	return ""
}

func code(list []string) string {
	if strings.Join(list, "") == "" {
		return ""
	}
	return "`" + strings.Join(list, "`, `") + "`"
}
