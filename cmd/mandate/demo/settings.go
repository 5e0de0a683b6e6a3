package demo

import (
	"fmt"
	"os"
)

// The settings of the demo. BASE_URL, LISTEN and DATABASE_URL come before them.
const settings = `
SAMPLE_API: true
LOG_LEVEL: error
OAUTH2_PROVIDER:
  OIDC_ENABLED: true
  SCOPES:
    read: Read what the sample API knows
    write: Add people to the sample API
    groups: See the groups of people
    openid: Sign you in
    profile: See your name and profile
    email: See your email address
    introspection: Ask about the tokens of others
  DEFAULT_SCOPES: [read, write, groups]
`

// WriteConfig writes a configuration that other commands can be given too.
func WriteConfig(path, base, listen, database string) error {
	text := fmt.Sprintf("BASE_URL: %s\nLISTEN: %q\nDATABASE_URL: %q\n", base, listen, "sqlite:///"+database)
	return os.WriteFile(path, []byte(text+settings), 0o600)
}
