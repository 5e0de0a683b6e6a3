package people

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"mandate/provider/oauth"
	"mandate/provider/seal"
)

// reservedNames are the names of roles, in the languages of the pages too. Many programs find the person of a login
// by the username, and these are the names of the first administrator there, or of a mailbox that speaks for the
// operator (RFC 2142).
var reservedNames = []string{
	"abuse", "adm", "admin", "administrateur", "administrador", "administrator", "administrators", "admins",
	"akadmin", "anonymous", "daemon", "devops", "giteaadmin", "guest", "helpdesk", "hostmaster", "info", "mandate",
	"maintainer", "manager", "moderator", "nobody", "noreply", "operator", "owner", "postgres", "postmaster",
	"root", "security", "service", "staff", "superadmin", "superuser", "support", "sysadmin", "sysop", "system",
	"systemadmin", "systemadministrator", "sudo", "toor", "webadmin", "webmaster", "wheel",
}

// isReserved reports whether nobody may choose a username. Signs, and digits at the end, make no other name of it for
// those who read it. Programs that know ASCII alone leave out marks and other letters, or compare in capitals: there,
// "àdmin" is admin.
func isReserved(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(strings.ToUpper(norm.NFKD.String(name))))
	return slices.Contains(reservedNames, strings.TrimRight(plain, "0123456789"))
}

// checkChosen returns an Invalid for a username that a person may not choose who makes an account: it is that of a
// role, or somebody has had it. Programs find people by the username, and still know the former person. An
// administrator may give it.
func (p *People) checkChosen(ctx context.Context, username string) error {
	if isReserved(username) {
		found := &oauth.Invalid{}
		found.Add("username", "This username is reserved. Choose another one, or ask an administrator for it.")
		return found
	}
	was, err := p.store.WasUsername(ctx, FoldName(username))
	if err != nil {
		return oauth.Unavailable(err)
	}
	if was {
		return formerName()
	}
	return nil
}

// formerName returns the Invalid for a username that somebody else has had.
func formerName() error {
	found := &oauth.Invalid{}
	found.Add(
		"username",
		"Somebody else has had this username, and applications may still know that person by it. Choose another one, or "+
			"ask an administrator for it.",
	)
	return found
}

// anyUsername returns a username for somebody who cannot have the own address as one.
func anyUsername() string { return "person-" + seal.Identifier()[:12] }
