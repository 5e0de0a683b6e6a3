package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mandate/provider/acr"
	"mandate/provider/loopback"
	"mandate/provider/people"
)

var (
	serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	mailDomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
)

// checkSignInServers checks the other servers with which people sign in. Whether one of them answers is
// not checked: it may be down for a moment.
func (l *loader) checkSignInServers() {
	const servers = "SIGN_IN_SERVERS"
	if !l.ok(servers) {
		return
	}
	names, issuers := map[string]bool{}, map[string]bool{}
	for i := range l.c.People.Servers {
		s, item := &l.c.People.Servers[i], fmt.Sprintf("%s[%d]", servers, i)
		s.Label = cmp.Or(s.Label, s.Name)
		l.checkSignInServer(*s, item)
		l.checkPolicies(*s, item)
		if names[s.Name] && s.Name != "" {
			l.wrong("has the NAME of an earlier item; choose another one", item+".NAME", item)
		}
		// The identities of people would belong to both.
		if issuers[s.Issuer] && s.Issuer != "" {
			l.wrong("has the ISSUER of an earlier item; keep one", item+".ISSUER", item)
		}
		names[s.Name], issuers[s.Issuer] = true, true
	}
}

// checkSignInServer checks how Mandate reaches a server and is registered there.
func (l *loader) checkSignInServer(s people.Server, item string) {
	at := func(key string) []string { return []string{item + "." + key, item} }
	if !serverName.MatchString(s.Name) {
		l.wrong("needs a NAME of at most 40 lower-case letters, digits and -, such as company: it is a part of the "+
			"redirect URI", at("NAME")...)
	}
	if strings.ContainsFunc(
		s.Label, unicode.IsControl,
	) || utf8.RuneCountInString(s.Label) > 60 || s.Label != "" && strings.TrimSpace(s.Label) == "" {
		l.wrong("needs a LABEL of at most 60 characters on one line: people read it on a button", at("LABEL")...)
	}
	u, wrong := webURL(s.Issuer)
	switch {
	case wrong != "":
		l.wrong(wrong+": it is the issuer in the metadata of the server (OIDC Discovery §3)", at("ISSUER")...)
	case strings.Contains(s.Issuer, "?"):
		l.wrong("contains a query; remove everything from the ? on (OIDC Discovery §3)", at("ISSUER")...)
	case len(s.Issuer) > 255:
		l.wrong("is longer than 255 characters", at("ISSUER")...)
	case s.Issuer == l.c.BaseURL+"/o":
		l.wrong("is the issuer of this server; name another server", at("ISSUER")...)
	case u.Scheme != "https" && !loopback.Is(u.Hostname()) && !l.c.AllowInsecureHTTP:
		l.wrong("is plain http: everybody on the network path could sign in as anybody; use https, or set "+
			"ALLOW_INSECURE_HTTP: true in a test network", at("ISSUER")...)
	}
	if !credential.MatchString(s.ClientID) {
		l.wrong("needs CLIENT_ID: the client id of Mandate at that server, in printable ASCII", at("CLIENT_ID")...)
	}
	if !credential.MatchString(s.ClientSecret) {
		l.wrong("needs CLIENT_SECRET or CLIENT_SECRET_FILE: the client secret of Mandate at that server, in printable ASCII",
			at("CLIENT_SECRET")...)
	}
	for j, scope := range s.Scopes {
		if !scopeToken.MatchString(scope) {
			l.element(item+".SCOPES", j, scopeTokenText)
		}
	}
	if !slices.Contains(s.Scopes, scopeOpenID) {
		l.wrong("needs the scope openid, without which there is no ID token (OIDC Core §3.1.2.1)", at("SCOPES")...)
	}
}

// checkPolicies checks what a server decides about people here.
func (l *loader) checkPolicies(s people.Server, item string) {
	at := func(key string) []string { return []string{item + "." + key, item} }
	byAddress := s.TrustedForEmail || s.NewPeople != people.NewPeopleOff
	switch {
	case byAddress && !slices.Contains(s.Scopes, "email"):
		l.wrong("needs the scope email: TRUSTED_FOR_EMAIL and NEW_PEOPLE are about the address", at("SCOPES")...)
	case s.NewPeople == people.NewPeopleDomains && len(s.AllowedDomains) == 0:
		l.wrong("needs ALLOWED_DOMAINS, such as [example.com]", at("NEW_PEOPLE")...)
	case s.AssumeVerified && len(s.AllowedDomains) == 0:
		l.wrong("needs ALLOWED_DOMAINS, such as [example.com]: only addresses in these domains count as verified",
			at("ASSUME_EMAIL_VERIFIED")...)
	case s.AssumeVerified && !byAddress:
		l.wrong("has no effect without TRUSTED_FOR_EMAIL or NEW_PEOPLE; set one of them, or remove this",
			at("ASSUME_EMAIL_VERIFIED")...)
	case s.NewPeople != people.NewPeopleDomains && len(s.AllowedDomains) > 0 && !s.AssumeVerified:
		l.wrong("has no effect without NEW_PEOPLE: domains or ASSUME_EMAIL_VERIFIED; set one of them, or remove this",
			at("ALLOWED_DOMAINS")...)
	}
	for j, domain := range s.AllowedDomains {
		if !mailDomain.MatchString(domain) {
			l.element(item+".ALLOWED_DOMAINS", j, wrongDomain)
		}
	}
	switch {
	case s.GroupsClaim == "" && len(s.Groups) > 0:
		l.wrong("needs GROUPS_CLAIM: the claim of that server whose values are mapped", at("GROUPS")...)
	case s.GroupsClaim != "" && len(s.Groups) == 0:
		l.wrong("has no effect without GROUPS: map the values of the claim to groups here, or remove this",
			at("GROUPS_CLAIM")...)
	}
	for j, m := range s.Groups {
		if m.To == "" {
			l.element(item+".GROUPS", j, "names no group; write the group that exists here")
		}
	}
	for j, m := range s.ACR {
		if m.From == "" || !slices.Contains(acr.Values(), m.To) {
			l.element(item+".ACR", j, "must lead from an acr of that server to one of "+strings.Join(acr.Values(), ", "))
		}
	}
}

// checkSignUp checks who may make an account.
func (l *loader) checkSignUp() {
	const signUp, domains = "SIGN_UP", "SIGN_UP_ALLOWED_DOMAINS"
	if !l.ok(signUp, domains) {
		return
	}
	open := l.c.People.SignUp == people.SignUpOpen
	if open && l.c.Mail.URL == "" && l.ok("SMTP_URL") {
		l.wrong(
			"is open, so it needs SMTP_URL and MAIL_FROM: people show that an address is theirs by a link that is sent to it",
			signUp,
		)
	}
	if !open && len(l.c.People.SignUpDomains) > 0 {
		l.wrong("has no effect without SIGN_UP: open; set that too, or remove this", domains)
	}
	for i, domain := range l.c.People.SignUpDomains {
		if !mailDomain.MatchString(domain) {
			l.element(domains, i, wrongDomain)
		}
	}
}

// checkEditable checks what people may change of their own account.
func (l *loader) checkEditable() {
	const editable = "EDITABLE_BY_PEOPLE"
	for i, field := range l.c.People.Editable {
		if l.ok(editable) && !slices.Contains(people.OwnFields(), field) {
			l.element(editable, i, "must be one of "+strings.Join(people.OwnFields(), ", "))
		}
	}
	if slices.Contains(l.c.People.Editable, people.OwnEmail) && l.c.Mail.URL == "" && l.ok(editable, "SMTP_URL") {
		l.wrong("has email, so it needs SMTP_URL and MAIL_FROM: a new address is confirmed by a link that is sent to it",
			editable)
	}
}

// wrongDomain says how a domain is written.
const wrongDomain = "is not the domain of an email address; write what follows the @ in lower-case ASCII (example.com)"
