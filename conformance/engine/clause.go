package engine

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"mandate/conformance/check"
)

// anchors has a line for each section of a document whose sections have names in its address: the document, the
// section, and what follows the address of the document.
//
//go:embed anchors.txt
var anchors string

const (
	rfcs   = "https://www.rfc-editor.org/rfc/"
	openID = "https://openid.net/specs/"
)

// documentURL returns the address of a document, or "".
func documentURL(document string) string {
	if number, is := strings.CutPrefix(document, "RFC"); is {
		return rfcs + "rfc" + number
	}
	return map[string]string{
		"OIDCCore":         openID + "openid-connect-core-1_0.html",
		"OIDCDiscovery":    openID + "openid-connect-discovery-1_0.html",
		"OIDCRegistration": openID + "openid-connect-registration-1_0.html",
		"OIDCRPLogout":     openID + "openid-connect-rpinitiated-1_0.html",
		"OIDCBackChannel":  openID + "openid-connect-backchannel-1_0.html",
		"FAPI2":            openID + "fapi-security-profile-2_0-final.html",
		"FAPI2MS":          openID + "fapi-message-signing-2_0-final.html",
		"JARM":             openID + "oauth-v2-jarm.html",
		"OIDCFormPost":     openID + "oauth-v2-form-post-response-mode-1_0.html",
		"OAuth21":          "https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1-16",
		"CIMD":             "https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02",
		"MCP":              "https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization",
	}[document]
}

// ClauseURL returns the address of the clause of a rule. If the name of the section is not known, it is the address of
// the document.
func ClauseURL(r check.Rule) string {
	document, clause := documentURL(r.Document()), r.Clause()
	if document == "" || clause == "" {
		return document
	}
	if strings.HasPrefix(r.Document(), "RFC") || r.Document() == "OAuth21" || r.Document() == "CIMD" ||
		r.Document() == "JARM" || strings.HasPrefix(r.Document(), "FAPI2") {
		part := "#section-"
		if clause[0] >= 'A' {
			part = "#appendix-"
		}
		return document + part + clause
	}
	_, rest, _ := strings.Cut("\n"+anchors, "\n"+r.Document()+" "+clause+" ")
	anchor, _, _ := strings.Cut(rest, "\n")
	return document + anchor
}

func clauseText(clause string) string {
	if numbered(clause) {
		return "§" + clause
	}
	return clause
}

// Clause returns what the clause of a rule says, and to whom. cited is the name of its document.
func Clause(cited string, r check.Rule) string {
	switch {
	case r.Binds == "":
		return ""
	case r.Sentence == "":
		return fmt.Sprintf("%s %s binds %s.", cited, clauseText(r.Clause()), r.Binds)
	}
	clause := cmp.Or(r.SentenceIn, r.Clause())
	if document, section, other := strings.Cut(clause, " "); other {
		cited, clause = strings.Replace(document, "RFC", "RFC ", 1), section
	}
	return fmt.Sprintf("%s %s, to %s: \"%s\"", cited, clauseText(clause), r.Binds, r.Sentence)
}
