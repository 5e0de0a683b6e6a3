package config

import (
	"fmt"
	"net"
	"regexp"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/redirect"
)

var (
	hostName  = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	anyScheme = regexp.MustCompile(`^[a-z][a-z0-9+-]*$`)
)

// checkOpenClients checks who may come without a registration by a person.
func (l *loader) checkOpenClients() {
	const open, hosts, schemes = providerBlock + "OPEN_CLIENTS", providerBlock + "OPEN_HOSTS",
		providerBlock + "OPEN_REDIRECT_URI_SCHEMES"
	p := l.c.Provider
	if l.ok(open) {
		for i, one := range p.Open.Clients {
			if one != clients.OpenDocuments && one != clients.OpenRegistration {
				l.element(open, i, "must be "+clients.OpenDocuments+" or "+clients.OpenRegistration)
			}
		}
	}
	if l.ok(hosts) {
		for i, host := range p.Open.Hosts {
			if !hostName.MatchString(host) && net.ParseIP(host) == nil {
				l.element(hosts, i, "must be a host such as claude.ai or *.example.com, in lower case and without a port")
			}
		}
	}
	if l.ok(schemes) {
		for i, scheme := range p.Open.Schemes {
			if !anyScheme.MatchString(scheme) || !redirect.OfApplication(scheme) {
				l.element(
					schemes, i, "must be the private-use scheme of an application, without a dot and in lower case, such as cursor",
				)
			}
		}
	}
}

// checkStatements checks the issuers of software statements.
func (l *loader) checkStatements() {
	const issuers, required, clients, withToken = providerBlock + "SOFTWARE_STATEMENT_ISSUERS",
		providerBlock + "OPEN_SOFTWARE_STATEMENT_REQUIRED", providerBlock + "OPEN_CLIENTS",
		providerBlock + "REGISTRATION_WITH_TOKEN"
	p := l.c.Provider
	if !l.ok(issuers) {
		return
	}
	seen := map[string]bool{}
	for i, issuer := range p.Registration.Statements {
		item := fmt.Sprintf("%s[%d]", issuers, i)
		for _, wrong := range issuer.Check() {
			l.wrong(wrong.Message, item+"."+strings.ToUpper(wrong.Field), item)
		}
		if seen[issuer.Issuer] && issuer.Issuer != "" {
			l.wrong("has the ISSUER of an earlier item; keep one", item)
		}
		seen[issuer.Issuer] = true
	}
	if !l.ok(required, clients, withToken) {
		return
	}
	open := p.Open.Registration()
	if len(p.Registration.Statements) > 0 && !open && !p.Open.WithToken {
		l.wrong(
			"has no effect while no application can register itself; set OPEN_CLIENTS: [registration] or "+
				"REGISTRATION_WITH_TOKEN too, or remove this",
			issuers,
		)
	}
	if p.Open.StatementRequired && (len(p.Registration.Statements) == 0 || !open) {
		l.wrong("needs OPEN_CLIENTS: [registration] and SOFTWARE_STATEMENT_ISSUERS; set both, or remove this", required)
	}
}
