package storage

import (
	"context"
	"errors"
	"strings"
)

// ErrExcluded means that the person may not use the application.
var ErrExcluded = errors.New("the person may not use the application")

// inForce is the condition that a membership m has not expired.
func inForce(now string) string { return `(m.expires_at = 0 OR m.expires_at > ` + now + `)` }

// padded has a text between line feeds.
func padded(text string) string { return "'\n' || " + text + " || '\n'" }

// inList is the condition that a list by line has the group of a membership m.
func inList(list string) string {
	return `REPLACE(` + padded(list) + `, ` + padded("m.group_name") + `, '') <> ` + padded(list)
}

// restricted is the condition that an application a has lists of groups.
const restricted = `(a.allowed_groups <> '' OR a.denied_groups <> '')`

// mayUse is the condition that the groups of a person u let them use an application a. It is part of every statement
// that reads or stores what the application has of the person. A name in a list that no group has lets nobody in.
func mayUse(now string) string {
	return `CASE WHEN NOT ` + restricted + ` THEN TRUE ELSE (SELECT COUNT(CASE WHEN ` + inList("a.denied_groups") +
		` THEN 1 END) = 0 AND (a.allowed_groups = '' OR COUNT(CASE WHEN ` + inList("a.allowed_groups") +
		` THEN 1 END) > 0) FROM memberships m WHERE m.user_id = u.id AND ` + inForce(now) + `) END`
}

// mayBegin is the condition that a person u may give an application a access: as mayUse, and if it takes nobody new,
// the person has given it access before.
func mayBegin(now string) string {
	return mayUse(now) + ` AND (NOT a.nobody_new OR ` + hasUsed(now) + `)`
}

// hasUsed is the condition that a person u gives an application a access now.
func hasUsed(now string) string {
	return `(EXISTS (SELECT 1 FROM consents c WHERE c.user_id = u.id AND c.application_id = a.id
		AND c.generation = a.generation) OR EXISTS (SELECT 1 FROM grants g WHERE g.user_id = u.id
		AND g.application_id = a.id AND g.generation = a.generation AND g.expires_at > ` + now + `))`
}

// changesAt is when mayUse may have another result because a membership of a person u ends; 0: never.
func changesAt(now string) string {
	return `CASE WHEN NOT ` + restricted + ` THEN 0 ELSE COALESCE((SELECT MIN(m.expires_at) FROM memberships m
		WHERE m.user_id = u.id AND m.expires_at > ` + now + `), 0) END`
}

// HasUsed reports whether a person gives an application access now.
func (s *Store) HasUsed(ctx context.Context, userID, applicationID string, now int64) (bool, error) {
	var has bool
	err := s.get(ctx, &has, `SELECT EXISTS (SELECT 1 FROM users u, applications a WHERE u.id = $1 AND a.id = $2
		AND `+hasUsed("$3")+`)`, userID, applicationID, now)
	return has, err
}

// UsableBy lists, by name, the applications that a person may give access, as their groups say. An empty search matches
// all of them.
func (s *Store) UsableBy(ctx context.Context, userID, search string, now int64, limit, offset int) (
	[]Application, error) {
	folded, written := likePatterns(search)
	var found []Application
	err := s.all(ctx, &found, selectApplication+`WHERE a.id IN (SELECT a.id FROM applications a, users u WHERE u.id = $1
		AND u.active AND `+mayBegin("$2")+`) AND (LOWER(a.name) LIKE $3 ESCAPE '!' OR a.name LIKE $4 ESCAPE '!')
		ORDER BY LOWER(a.name), a.id LIMIT $5 OFFSET $6`, userID, now, folded, written, limit, offset)
	return found, err
}

// UsersOf lists, by number, the active people after a number who may give an application access, as their groups say.
// An empty search matches everyone.
func (s *Store) UsersOf(ctx context.Context, applicationID, search string, now, after int64, limit int) (
	[]User, error) {
	folded, written := likePatterns(search)
	var found []User
	err := s.all(ctx, &found, `SELECT `+userColumns+` FROM users WHERE id IN (SELECT u.id FROM users u
		JOIN applications a ON a.id = $3 WHERE u.active AND u.number > $5 AND `+mayBegin("$4")+`)
		AND (`+userMatches+`) ORDER BY number LIMIT $6`, folded, written, applicationID, now, after, limit)
	return found, err
}

// mustAdmit returns ErrExcluded if a person may not give an application access.
func (t tx) mustAdmit(userID, applicationID string, now int64) error {
	var may bool
	err := t.get(&may, `SELECT `+mayBegin("$3")+` FROM users u, applications a WHERE u.id = $1 AND a.id = $2`,
		userID, applicationID, now)
	if err == nil && !may || errors.Is(err, ErrNotFound) {
		err = ErrExcluded
	}
	return err
}

// holds is the condition that an application a has something of a person u.
const holds = `(EXISTS (SELECT 1 FROM consents c WHERE c.user_id = u.id AND c.application_id = a.id)
	OR EXISTS (SELECT 1 FROM grants g WHERE g.user_id = u.id AND g.application_id = a.id)
	OR EXISTS (SELECT 1 FROM sessions s JOIN logins l ON l.session_id = s.id WHERE s.user_id = u.id
		AND l.application_id = a.id AND l.due_at = 0))`

// endExcluded ends what applications have of a person whose groups have changed, and who may not use them any more.
// The caller has locked the row of the person.
func (t tx) endExcluded(userID string, now int64) error {
	from := ` FROM applications a JOIN users u ON u.id = $1 WHERE ` + restricted + ` AND NOT ` + mayUse("$2")
	var excluded bool
	err := t.get(&excluded, `SELECT EXISTS (SELECT 1`+from+`)`, userID, now)
	if err != nil || !excluded {
		return err
	}
	err = t.holdSessions(userID)
	if err != nil {
		return err
	}
	ids, err := t.texts(`SELECT a.id`+from+` AND `+holds+` ORDER BY a.id`, userID, now)
	for _, id := range ids {
		if err == nil {
			err = t.endAccess(userID, id, now)
		}
	}
	return err
}

// holdSessions locks the sessions of a person: a grant that is being stored for one of them is seen afterwards, or
// sees afterwards what the transaction has changed.
func (t tx) holdSessions(userID string) error {
	_, err := t.exec(`UPDATE sessions SET seen_at = seen_at WHERE user_id = $1`, userID)
	return err
}

// endAccess ends what an application has of a person. The logout notifications to it become due.
func (t tx) endAccess(userID, applicationID string, now int64) error {
	t.changed(OfUser, userID)
	_, err := t.exec(`DELETE FROM consents WHERE user_id = $1 AND application_id = $2`, userID, applicationID)
	if err == nil {
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND application_id = $2`, userID, applicationID)
	}
	if err == nil {
		_, err = t.exec(`UPDATE logins SET due_at = $3, expires_at = $4 WHERE application_id = $2 AND due_at = 0
			AND session_id IN (SELECT id FROM sessions WHERE user_id = $1)`, userID, applicationID, now, now+notifyFor)
	}
	return err
}

// narrow notes that the groups of an application have changed, for SweepExcluded. It returns ErrNotFound if one of them
// does not exist. No group gets another name meanwhile: the application would keep the former one.
func (t tx) narrow(was, now Application) error {
	if was.AllowedGroups == now.AllowedGroups && was.DeniedGroups == now.DeniedGroups {
		return nil
	}
	_, err := t.exec(lockPeople)
	for name := range strings.SplitSeq(now.AllowedGroups+"\n"+now.DeniedGroups, "\n") {
		if err == nil && name != "" {
			err = t.get(new(string), `SELECT name FROM groups WHERE name = $1`, name)
		}
	}
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO narrowed (application_id, version, reached) SELECT id, version, '' FROM applications
		WHERE id = $1 ON CONFLICT (application_id) DO UPDATE SET version = excluded.version, reached = ''`, now.ID)
	return err
}

// narrowed is the progress of SweepExcluded at one application.
type narrowed struct {
	ApplicationID string `db:"application_id"`
	Version       int64  `db:"version"`
	Reached       string `db:"reached"`
}

// SweepExcluded looks at the next limit people for an application whose groups have changed, and ends what the
// application has of those who may not use it any more. It returns how many people it has looked at.
func (s *Store) SweepExcluded(ctx context.Context, now int64, limit int) (int64, error) {
	var of []narrowed
	err := s.all(ctx, &of, `SELECT application_id, version, reached FROM narrowed ORDER BY application_id LIMIT 1`)
	if err != nil || len(of) == 0 {
		return 0, err
	}
	n := of[0]
	var people []string
	err = s.all(ctx, &people, `SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2`, n.Reached, limit)
	if err != nil {
		return 0, err
	}
	if len(people) == 0 {
		_, err = s.exec(ctx, `DELETE FROM narrowed WHERE application_id = $1 AND version = $2 AND reached = $3`,
			n.ApplicationID, n.Version, n.Reached)
		return int64(limit), err // there may be another application
	}
	last := people[len(people)-1]
	return int64(limit), s.atomically(ctx, func(t tx) error {
		ids, err := t.texts(`SELECT u.id FROM users u JOIN applications a ON a.id = $1 WHERE u.id > $3 AND u.id <= $4
			AND NOT `+mayUse("$2")+` AND `+holds+` ORDER BY u.id`, n.ApplicationID, now, n.Reached, last)
		for _, id := range ids {
			if err == nil {
				err = t.lockUser(id)
			}
			if err == nil {
				err = t.holdSessions(id)
			}
			if err == nil {
				err = t.endAccess(id, n.ApplicationID, now)
			}
		}
		if err == nil {
			_, err = t.exec(`UPDATE narrowed SET reached = $4 WHERE application_id = $1 AND version = $2 AND reached = $3`,
				n.ApplicationID, n.Version, n.Reached, last)
		}
		return err
	})
}
