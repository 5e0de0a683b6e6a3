package demo

import (
	"fmt"
	"os"
)

// settings is the configuration of the demo. BASE_URL, LISTEN and DATABASE_URL
// precede it.
const settings = `
SAMPLE_API: true
LOG_LEVEL: error
OAUTH2_PROVIDER:
  OPEN_CLIENTS: [documents, registration]
  SCOPES:
    read: Read data from the sample API
    write: Add people to the sample API
    groups: See the groups of people
    introspection: Ask about the tokens of others
  DEFAULT_SCOPES: [read, write, groups]
`

// WriteConfig writes the configuration of the demo to a file, which other commands
// can use too.
func WriteConfig(path, base, listen, database string) error {
	text := fmt.Sprintf("BASE_URL: %s\nLISTEN: %q\nDATABASE_URL: %q\n", base, listen, "sqlite:///"+database)
	return os.WriteFile(path, []byte(text+settings), 0o600)
}
