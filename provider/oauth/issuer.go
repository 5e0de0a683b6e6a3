package oauth

import "strings"

// BaseURL returns the base URL of the server with this issuer.
func BaseURL(issuer string) string { return strings.TrimSuffix(issuer, "/o") }
