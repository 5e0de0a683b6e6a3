package storage

import (
	"fmt"
	"strings"

	"golang.org/x/net/idna"
)

// byProgram lists what migrations do beside their SQL. It returns notes for the operator.
var byProgram = map[int]func(tx) ([]string, error){36: tx.convertAddresses}

// address is the address of a record.
type address struct {
	ID    string `db:"id"`
	Email string `db:"email"`
}

// convertAddresses writes the domain of each address as A-labels. An address stays as it is if somebody else has it in
// that form: two people must not get the same address by a migration. Nobody finds the address that stays.
func (t tx) convertAddresses() ([]string, error) {
	// Beyond ASCII, a text has more bytes than characters.
	const beyond = ` WHERE OCTET_LENGTH(email) <> LENGTH(email)`
	toInvitation := []string{`UPDATE invitations SET email = $3 WHERE id = $1 AND email = $2`}
	var notes []string
	for _, of := range []struct {
		record, list, taken string
		changes             []string
	}{
		{"a person", `SELECT id, email FROM users` + beyond, `SELECT EXISTS (SELECT 1 FROM users
			WHERE LOWER(email) = LOWER($1))`,
			[]string{`UPDATE users SET email = $3 WHERE id = $1 AND email = $2`, `UPDATE links SET email = $3 WHERE user_id = $1
				AND email = $2`}},
		{"an invitation", `SELECT id, email FROM invitations` + beyond + ` AND NOT asked`,
			`SELECT EXISTS (SELECT 1 FROM invitations WHERE LOWER(email) = LOWER($1) AND NOT asked)`, toInvitation},
		// A stranger can ask for a link to any address, which takes it from nobody.
		{"a link", `SELECT id, email FROM invitations` + beyond + ` AND asked`, `SELECT LOWER($1) = ''`, toInvitation},
	} {
		var found []address
		err := t.SelectContext(t.ctx, &found, of.list+` ORDER BY created_at, id`)
		for _, one := range found {
			next, taken := asciiAddress(one.Email), false
			if next == "" || err != nil {
				continue
			}
			err = t.get(&taken, of.taken, next)
			if err == nil && taken {
				notes = append(notes,
					fmt.Sprintf("the address %q of %s (%s) stays as it is, and is not found: another one has %s. Change one of the "+
						"two", one.Email, of.record, one.ID, next))
				continue
			}
			for _, change := range of.changes {
				if err == nil {
					_, err = t.exec(change, one.ID, one.Email, next)
				}
			}
			t.changed(OfUser, one.ID) // nodes keep no copies of invitations
		}
		if err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// asciiAddress returns an address with the A-labels of its domain, or "" if it has no such form.
func asciiAddress(email string) string {
	at := strings.LastIndex(email, "@")
	domain, err := idna.Lookup.ToASCII(email[at+1:])
	if err != nil || at < 1 || strings.ContainsFunc(email[:at], func(r rune) bool { return r > '~' }) {
		return ""
	}
	return email[:at+1] + domain
}
