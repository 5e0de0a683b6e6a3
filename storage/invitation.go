package storage

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Invitation lets somebody make an account of their own. The database holds only the digest of the
// secret in its link. It ends when it is used, and when the inviter is no administrator, or not of the group, any more.
type Invitation struct {
	ID        string  `db:"id"`
	Digest    string  `db:"digest"`
	Email     string  `db:"email"`
	Mailed    bool    `db:"mailed"`     // the link was sent to the address
	Asked     bool    `db:"asked"`      // nobody has invited the person, who asked for the link
	InviterID *string `db:"inviter_id"` // nil: the operator, or the person asked
	Inviter   *string `db:"inviter"`    // the inviter's name; only read, never written
	Groups    string  `db:"group_names"`
	Language  string  `db:"language"` // of the message: a language tag, or ""
	Network   string  `db:"network"`  // from which somebody asked for the link; "": nobody did
	CreatedAt int64   `db:"created_at"`
	ExpiresAt int64   `db:"expires_at"`

	Unsent  bool `db:"unsent"`  // the message could not be sent; only read, as the next one
	Waiting bool `db:"waiting"` // the message was not sent yet
}

// NewInvitation is an invitation, and the message that contains its link, if there is one.
type NewInvitation struct {
	Invitation
	Mail *NewMail
}

var (
	// ErrAddressTaken means that somebody has the address.
	ErrAddressTaken = errors.New("somebody has the address")
	// ErrInvited means that there is an invitation for the address.
	ErrInvited = errors.New("there is an invitation for the address")
	// ErrMailFull means that there are too many messages.
	ErrMailFull = errors.New("too many messages")
)

const selectInvitation = `SELECT i.id, i.digest, i.email, i.mailed, i.asked, i.inviter_id, u.username AS inviter,
	i.group_names, i.language, i.network, i.created_at, i.expires_at, i.unsent,
	EXISTS (SELECT 1 FROM mails m WHERE m.invitation = i.id) AS waiting
	FROM invitations i LEFT JOIN users u ON u.id = i.inviter_id `

// inviterMay is the condition under which an invitation works, together with its time. An administrator of a group
// invites to this group alone.
const inviterMay = `(inviter_id IS NULL OR EXISTS (SELECT 1 FROM users v WHERE v.id = inviter_id AND v.active
	AND (v.administrator OR EXISTS (SELECT 1 FROM group_administrators d WHERE d.user_id = v.id
		AND d.group_name = group_names))))`

// AddInvitations stores all of these invitations, or none. It returns ErrSpent if the inviter is no
// administrator any more, ErrFull if there would be more than most invitations, ErrMailFull if there would
// be too many messages, ErrInvited if there is an invitation for one of the addresses, and ErrAddressTaken
// if somebody has one.
func (s *Store) AddInvitations(ctx context.Context, inviterID *string, list []NewInvitation, most int) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.mayInvite(inviterID, list, most)
		for _, i := range list {
			if err == nil {
				err = t.invite(i)
			}
		}
		return err
	})
}

// mayInvite locks the inviter: whoever takes the administrator's rights away waits, and then ends these
// invitations too. The first statement is a lock too: additions and changes of people, and invitations, run
// one after another.
func (t tx) mayInvite(inviterID *string, list []NewInvitation, most int) error {
	_, err := t.exec(lockPeople)
	if err == nil && inviterID != nil {
		for _, groups := range listsOf(list) {
			if err == nil {
				err = t.spend(`UPDATE users SET active = TRUE WHERE id = $1 AND active AND (administrator
					OR EXISTS (SELECT 1 FROM group_administrators WHERE user_id = $1 AND group_name = $2))`, *inviterID, groups)
			}
		}
		if err == nil {
			err = t.roomForDelegate(*inviterID, list)
		}
	}
	if err == nil && len(list) > 0 {
		err = t.roomForInvitations(list[0].CreatedAt, len(list), most)
	}
	return err
}

// listsOf returns the lists of groups of invitations, each once. Without an invitation it is a list of none.
func listsOf(list []NewInvitation) []string {
	if len(list) == 0 {
		return []string{""}
	}
	var lists []string
	for _, one := range list {
		if !slices.Contains(lists, one.Groups) {
			lists = append(lists, one.Groups)
		}
	}
	return lists
}

// mostDelegated is how many invitations of one administrator of groups can wait.
const mostDelegated = 100

// roomForDelegate returns ErrFull if an administrator of groups would have more than mostDelegated invitations.
func (t tx) roomForDelegate(inviterID string, list []NewInvitation) error {
	var full bool
	err := t.get(&full, `SELECT NOT administrator AND (SELECT COUNT(*) FROM invitations WHERE inviter_id = $1) > $2
		FROM users WHERE id = $1`, inviterID, mostDelegated-len(list))
	if err == nil && full {
		err = ErrFull
	}
	return err
}

// roomForInvitations returns ErrFull if there would be more than most invitations. Those that have expired make room.
func (t tx) roomForInvitations(now int64, more, most int) error {
	const stored = `SELECT COUNT(*) FROM (SELECT 1 AS one FROM invitations WHERE asked = FALSE LIMIT $1) x`
	var n int
	err := t.get(&n, stored, most)
	if err == nil && n+more > most {
		now, err = t.everywhere(now)
		if err == nil {
			_, err = t.exec(`DELETE FROM invitations WHERE asked = FALSE AND expires_at <= $1`, now)
		}
		if err == nil {
			err = t.get(&n, stored, most)
		}
	}
	if err == nil && n+more > most {
		err = ErrFull
	}
	return err
}

// invite stores an invitation by somebody, and its message.
func (t tx) invite(i NewInvitation) error {
	now, err := t.everywhere(i.CreatedAt)
	if err == nil {
		_, err = t.exec(`DELETE FROM invitations WHERE LOWER(email) = LOWER($1) AND expires_at <= $2`, i.Email, now)
	}
	if err == nil {
		err = t.addressFree(i.Email, "")
	}
	if err == nil {
		err = t.addInvitation(i)
	}
	switch {
	case errors.Is(err, ErrConflict):
		return ErrInvited
	case errors.Is(err, ErrFull):
		return ErrMailFull
	}
	return err
}

func (t tx) addInvitation(i NewInvitation) error {
	err := t.meets(ErrConflict, `INSERT INTO invitations (id, digest, email, mailed, asked, inviter_id, group_names,
		language, created_at, expires_at, network)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`, i.ID, i.Digest, i.Email, i.Mailed,
		i.Asked, i.InviterID, i.Groups, i.Language, i.CreatedAt, i.ExpiresAt, i.Network)
	if err == nil && i.Mail != nil {
		err = t.addMail(*i.Mail)
	}
	return err
}

// addressFree returns ErrAddressTaken if somebody but this person has the address.
func (t tx) addressFree(email, userID string) error {
	var taken bool
	err := t.get(&taken, `SELECT EXISTS (SELECT 1 FROM users WHERE LOWER(email) = LOWER($1) AND id <> $2)`, email, userID)
	if err == nil && taken {
		err = ErrAddressTaken
	}
	return err
}

// RenewInvitation replaces an invitation by one with another link. It returns ErrNotFound if there is
// none with the ID, and else the errors of AddInvitations.
func (s *Store) RenewInvitation(ctx context.Context, id string, next NewInvitation, most int) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.mayInvite(next.InviterID, nil, most)
		if err == nil {
			err = t.one(`DELETE FROM invitations WHERE id = $1 AND NOT asked`, id)
		}
		if err == nil {
			err = t.invite(next)
		}
		return err
	})
}

// InvitationByDigest reads an invitation that works. It changes nothing.
func (s *Store) InvitationByDigest(ctx context.Context, digest string, now int64) (Invitation, error) {
	var i Invitation
	err := s.get(ctx, &i, selectInvitation+`WHERE i.digest = $1 AND i.expires_at > $2 AND `+inviterMay, digest, now)
	return i, err
}

// Invitation reads an invitation by its ID. It may have expired.
func (s *Store) Invitation(ctx context.Context, id string) (Invitation, error) {
	var i Invitation
	err := s.get(ctx, &i, selectInvitation+`WHERE i.id = $1 AND NOT i.asked`, id)
	return i, err
}

// InvitationTo reads the invitation of an address. It may have expired. Upper and lower case make no difference.
func (s *Store) InvitationTo(ctx context.Context, email string) (Invitation, error) {
	var i Invitation
	err := s.get(ctx, &i, selectInvitation+`WHERE LOWER(i.email) = LOWER($1) AND NOT i.asked`, email)
	return i, err
}

// Invitations lists the invitations of addresses that contain a text, the newest first, and their
// number. Some may have expired. Links that people asked for are not among them.
func (s *Store) Invitations(ctx context.Context, search string, limit, offset int) ([]Invitation, int, error) {
	folded, _ := likePatterns(search)
	const where = ` WHERE NOT i.asked AND LOWER(i.email) LIKE $1 ESCAPE '!'`
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*) FROM invitations i`+where, folded)
	if err != nil {
		return nil, 0, err
	}
	var found []Invitation
	err = s.all(ctx, &found, selectInvitation+where+` ORDER BY i.created_at DESC, i.email, i.id LIMIT $2 OFFSET $3`,
		folded, limit, offset)
	return found, total, err
}

// InvitationsOf counts the invitations of an inviter that still work.
func (s *Store) InvitationsOf(ctx context.Context, inviterID string, now int64) (int, error) {
	var n int
	err := s.get(ctx, &n, `SELECT COUNT(*) FROM invitations WHERE inviter_id = $1 AND expires_at > $2`, inviterID, now)
	return n, err
}

// InvitationsBy lists the invitations of an inviter that still work, the newest first.
func (s *Store) InvitationsBy(ctx context.Context, inviterID string, now int64, limit int) ([]Invitation, error) {
	var found []Invitation
	err := s.all(ctx, &found, selectInvitation+`WHERE i.inviter_id = $1 AND i.expires_at > $2 ORDER BY i.created_at DESC,
		i.id LIMIT $3`, inviterID, now, limit)
	return found, err
}

// IsInvited reports whether there is an invitation for an address. Upper and lower case make no
// difference.
func (s *Store) IsInvited(ctx context.Context, email string, now int64) (bool, error) {
	var invited bool
	err := s.get(ctx, &invited, `SELECT EXISTS (SELECT 1 FROM invitations WHERE LOWER(email) = LOWER($1) AND NOT asked
		AND expires_at > $2)`, email, now)
	return invited, err
}

// DeleteInvitation ends an invitation. Its message is not sent any more.
func (s *Store) DeleteInvitation(ctx context.Context, id string) error {
	return s.one(ctx, `DELETE FROM invitations WHERE id = $1 AND NOT asked`, id)
}

// endInvitations ends the invitations of a person that the person may not make any more.
const endInvitations = `DELETE FROM invitations WHERE inviter_id = $1 AND NOT ` + inviterMay

// AnswerSignUp replaces a reserved message by a link that somebody asked for, or by the notices. It
// returns ErrSpent if the message is no longer reserved for this node. If there are most such links
// already, the oldest one of the network that has the most ends. The link is left out if the recipient has had too many
// messages.
func (s *Store) AnswerSignUp(ctx context.Context, m Mail, link *NewInvitation, most int, notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`DELETE FROM mails WHERE id = $1 AND due_at = $2`, m.ID, m.DueAt)
		if err == nil {
			err = t.addNotices(notices)
		}
		if err == nil && link != nil {
			err = t.offer(*link, most)
		}
		return err
	})
}

// offer stores a link that somebody asked for, and its message, unless there are too many messages. If there
// are most such links, the oldest one of the network that has the most makes room: otherwise whoever asks for
// that many would keep everybody else out until these links end, or would end the links of everybody else.
func (t tx) offer(link NewInvitation, most int) error {
	err := t.countMail(*link.Mail)
	if err == nil {
		err = t.roomForLink(most)
	}
	if err == nil {
		counted := *link.Mail
		counted.Limit.Recipient = ""
		link.Mail = &counted
		err = t.addInvitation(link)
		if errors.Is(err, ErrFull) { // a link that nobody gets must not remain
			_, err = t.exec(`DELETE FROM invitations WHERE id = $1`, link.ID)
		}
	}
	if errors.Is(err, ErrFull) {
		err = nil
	}
	return err
}

// roomForLink makes room for one more link that somebody asked for.
func (t tx) roomForLink(most int) error {
	var n int
	err := t.get(&n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM invitations WHERE asked = TRUE LIMIT $1) x`, most+1)
	if err == nil && n >= most {
		_, err = t.exec(`DELETE FROM invitations WHERE id IN (SELECT id FROM (SELECT id, created_at,
			ROW_NUMBER() OVER (PARTITION BY network ORDER BY created_at DESC, id) AS turn
			FROM invitations WHERE asked = TRUE) x ORDER BY turn DESC, created_at, id LIMIT $1)`, n-most+1)
	}
	return err
}

// AcceptInvitation uses an invitation for a new person, who has a passkey if key is not nil. It returns
// the groups of the invitation that do not exist any more. It returns ErrSpent if the invitation does not
// work, ErrConflict if the username is taken, ErrFormerName if somebody else has had it, ErrFactorUsed if somebody
// has the passkey, and ErrAddressTaken if somebody has the address. In these cases the invitation is not used. Of
// several concurrent calls, one succeeds.
func (s *Store) AcceptInvitation(ctx context.Context, digest string, u User, key *Passkey) ([]string, error) {
	var missing []string
	err := s.atomically(ctx, func(t tx) error {
		// Additions and changes of people run one after another, so each sees the addresses of the earlier ones.
		err := t.addNewcomer(u)
		var i Invitation
		if err == nil {
			err = spentIfNone(t.write(&i, `DELETE FROM invitations WHERE digest = $1 AND email = $2 AND expires_at > $3
				AND `+inviterMay+` RETURNING email, mailed, group_names`, digest, u.Email, u.CreatedAt))
		}
		if err == nil {
			err = t.addressFree(u.Email, u.ID)
		}
		if err == nil && key != nil {
			err = t.insertPasskey(*key)
			if errors.Is(err, ErrConflict) {
				err = ErrFactorUsed
			}
		}
		groups := []string{i.Groups}
		if err == nil && i.Mailed {
			// Whoever reads the mail of the address gets what else waits for it.
			var others []string
			others, err = t.takeInvitations(u.Email, u.CreatedAt)
			groups = append(groups, others...)
		}
		if err == nil {
			missing, err = t.join(u.ID, groups, u.CreatedAt)
		}
		return err
	})
	return missing, err
}

// takeInvitations uses all invitations for an address, and returns their groups. Links that people asked
// for end, because somebody has the address from now on.
func (t tx) takeInvitations(email string, now int64) ([]string, error) {
	groups, err := t.texts(`DELETE FROM invitations WHERE LOWER(email) = LOWER($1) AND NOT asked AND expires_at > $2
		AND `+inviterMay+` RETURNING group_names`, email, now)
	if err == nil {
		_, err = t.exec(`DELETE FROM invitations WHERE LOWER(email) = LOWER($1)`, email)
	}
	return groups, err
}

// join makes a person a member of groups, which are lists by line. It returns the names of those that do
// not exist.
func (t tx) join(userID string, lists []string, now int64) ([]string, error) {
	names := slices.Sorted(strings.FieldsFuncSeq(strings.Join(lists, "\n"), func(r rune) bool { return r == '\n' }))
	return t.regroup(userID, regrouping{join: slices.Compact(names)}, now)
}
