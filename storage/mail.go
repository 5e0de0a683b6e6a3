package storage

import (
	"cmp"
	"context"
	"errors"
)

// Mail is a message that waits to be sent.
type Mail struct {
	ID         string  `db:"id"`
	Kind       string  `db:"kind"`
	UserID     *string `db:"user_id"`    // the person to whom it goes; nil: it is not known yet
	Link       *string `db:"link"`       // the digest of the link in it
	Invitation *string `db:"invitation"` // the ID of the invitation in it
	Body       string  `db:"body"`       // encrypted
	Network    string  `db:"network"`    // from which somebody asked for it; "": nobody did
	Queue      string  `db:"queue"`      // of the messages that are sent in turn
	Attempts   int64   `db:"attempts"`
	CreatedAt  int64   `db:"created_at"`
	DueAt      int64   `db:"due_at"`
	ExpiresAt  int64   `db:"expires_at"` // then it is not sent any more
}

// MailLimit limits the number of messages.
type MailLimit struct {
	Recipient string // a digest that stands for the recipient; "": the message is not counted
	PerHour   int64  // messages for this recipient within one hour, or one Period
	Period    int64  // in seconds; 0: an hour
	Most      int64  // messages of this kind that wait
	Also      []MailCount
}

// MailCount is something else for which messages are counted, such as the network that asks for
// them. What is counted first is not changed by what is full later.
type MailCount struct {
	Name    string
	PerHour int64
	Period  int64 // in seconds; 0: an hour
}

// NewMail is a message with the limits under which it is stored.
type NewMail struct {
	Mail
	Limit MailLimit
}

// anHour is the period in which messages are counted, in seconds.
const anHour int64 = 60 * 60

// AddMail stores a message. It returns ErrFull if a limit is reached.
func (s *Store) AddMail(ctx context.Context, m NewMail) error {
	return s.atomically(ctx, func(t tx) error { return t.addMail(m) })
}

// addMail counts and stores a message. Two messages that arrive at the same moment may exceed
// Most by one, but never PerHour. While there is no room, the oldest message of the network that
// has the most of this kind makes room for that of a network that has fewer. A reached count refuses: it removes
// nothing.
func (t tx) addMail(m NewMail) error {
	err := t.countMail(m)
	if err != nil {
		return err
	}
	err = t.insertMail(m)
	if !errors.Is(err, ErrFull) || m.Network == "" {
		return err
	}
	n, err := t.exec(`DELETE FROM mails WHERE id = (SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY network
		ORDER BY created_at DESC, id) AS turn FROM mails WHERE kind = $1) x
		WHERE turn > 1 + (SELECT COUNT(*) FROM mails WHERE kind = $1 AND network = $2) ORDER BY turn DESC, id LIMIT 1)`,
		m.Kind, m.Network)
	if err == nil && n == 0 {
		err = ErrFull // no other network has more
	}
	if err == nil {
		err = t.insertMail(m)
	}
	return err
}

// insertMail stores a message, or returns ErrFull.
func (t tx) insertMail(m NewMail) error {
	n, err := t.exec(`INSERT INTO mails (id, kind, user_id, link, body, attempts, created_at, due_at, expires_at,
		invitation, network, queue)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), 0,
			CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT), CAST($10 AS TEXT),
			CAST($11 AS TEXT), CAST($12 AS TEXT)
		WHERE (SELECT COUNT(*) FROM (SELECT 1 AS one FROM mails WHERE kind = $2 LIMIT $9) x) < $9`,
		m.ID, m.Kind, m.UserID, m.Link, m.Body, m.CreatedAt, m.DueAt, m.ExpiresAt, m.Limit.Most, m.Invitation,
		m.Network, m.Queue)
	if err == nil && n == 0 {
		err = ErrFull
	}
	return err
}

// countMail counts a message for its recipient, and for what else it counts, or returns ErrFull.
func (t tx) countMail(m NewMail) error {
	if m.Limit.Recipient == "" {
		return nil
	}
	for _, one := range m.Limit.Also {
		err := t.count(m.CreatedAt, one)
		if err != nil {
			return err
		}
	}
	return t.count(m.CreatedAt, MailCount{m.Limit.Recipient, m.Limit.PerHour, m.Limit.Period})
}

func (t tx) count(at int64, c MailCount) error {
	period := cmp.Or(c.Period, anHour)
	hour := at / period
	var messages int64
	err := t.write(&messages, `INSERT INTO mail_counts (recipient, hour, messages, expires_at) VALUES ($1, $2, 1, $3)
		ON CONFLICT (recipient, hour) DO UPDATE SET messages = mail_counts.messages + 1 WHERE mail_counts.messages < $4
			RETURNING messages`,
		c.Name, hour, (hour+1)*period, c.PerHour)
	if errors.Is(err, ErrNotFound) {
		return ErrFull
	}
	return err
}

// addNotices stores messages that tell a person what has happened. What has happened does not
// depend on them: if there are too many, the message is left out.
func (t tx) addNotices(notices []NewMail) error {
	for _, m := range notices {
		err := t.addMail(m)
		if err != nil && !errors.Is(err, ErrFull) {
			return err
		}
	}
	return nil
}

// DueMails lists messages of a queue that are due. They take turns by the network that asked for
// them, or else by their person, so that nobody waits behind all messages of somebody else. Of each,
// the one that is due the longest comes first.
func (s *Store) DueMails(ctx context.Context, queue string, now int64, limit int) ([]Mail, error) {
	var due []Mail
	err := s.all(ctx, &due, `SELECT id, kind, user_id, link, body, attempts, created_at, due_at, expires_at, invitation,
		network, queue FROM (
			SELECT m.*, ROW_NUMBER() OVER (PARTITION BY CASE WHEN network <> '' THEN network ELSE COALESCE(user_id, kind) END
				ORDER BY due_at, id) AS turn
			FROM mails m WHERE queue = $1 AND due_at <= $2 AND expires_at > $2) x
		ORDER BY turn, due_at, id LIMIT $3`, queue, now, limit)
	return due, err
}

// LeaseMail reserves a message for this node until a time. If several nodes try, one succeeds,
// and the others get ErrSpent. ErrSpent also means that the message is gone: its person was
// deleted, or its link has ended.
func (s *Store) LeaseMail(ctx context.Context, m Mail, until int64) (Mail, error) {
	n, err := s.exec(ctx, `UPDATE mails SET due_at = $3, attempts = attempts + 1 WHERE id = $1 AND due_at = $2`, m.ID,
		m.DueAt, until)
	if err == nil && n == 0 {
		err = ErrSpent
	}
	m.DueAt, m.Attempts = until, m.Attempts+1
	return m, err
}

// PostponeMail gives a reserved message back. It is due again at next.
func (s *Store) PostponeMail(ctx context.Context, m Mail, next int64) error {
	_, err := s.exec(ctx, `UPDATE mails SET due_at = $3 WHERE id = $1 AND due_at = $2`, m.ID, m.DueAt, next)
	return err
}

// ForgetMail deletes a message after it was sent.
func (s *Store) ForgetMail(ctx context.Context, m Mail) error {
	_, err := s.exec(ctx, `DELETE FROM mails WHERE id = $1`, m.ID)
	return err
}

// GiveUpMail deletes a message that cannot be sent, and notes it at its invitation.
func (s *Store) GiveUpMail(ctx context.Context, m Mail) error {
	if m.Invitation == nil {
		return s.ForgetMail(ctx, m)
	}
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(`DELETE FROM mails WHERE id = $1`, m.ID)
		if err == nil {
			_, err = t.exec(`UPDATE invitations SET unsent = TRUE WHERE id = $1`, *m.Invitation)
		}
		return err
	})
}

// AnswerMail replaces a reserved message by links and the messages that contain them, in one
// transaction. It returns ErrSpent if the message is no longer reserved for this node. A link
// whose person has changed meanwhile, or whose recipient has had too many messages, is left out.
func (s *Store) AnswerMail(ctx context.Context, m Mail, links []NewLink) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`DELETE FROM mails WHERE id = $1 AND due_at = $2`, m.ID, m.DueAt)
		for _, l := range links {
			if err != nil {
				return err
			}
			err = t.addLink(l)
			if err == nil && l.Event != nil {
				t.happened(*l.Event)
			}
			if errors.Is(err, ErrSpent) || errors.Is(err, ErrFull) {
				err = nil
			}
		}
		return err
	})
}
