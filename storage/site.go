package storage

import (
	"context"
	"errors"
	"strings"
)

// Site is what an application has beyond a client if a reverse proxy asks this server about the requests to its hosts.
type Site struct {
	ApplicationID string   `db:"application_id"`
	ClientID      string   `db:"client_id"`
	Name          string   `db:"name"`
	RequiredACR   string   `db:"required_acr"`
	PublicPaths   string   `db:"public_paths"` // prefixes, by line, that need no sign-in
	Assertion     bool     `db:"assertion"`    // the application gets a signed JWT
	Suspended     bool     `db:"suspended"`    // it lets in nobody
	Hosts         []string `db:"-"`

	Responsible string  `db:"responsible"`
	OwnerID     *string `db:"owner_id"`
	OwnerActive *bool   `db:"owner_is_active"`
}

const selectSite = `SELECT t.application_id, a.client_id, a.name, a.required_acr, t.public_paths, t.assertion,
	t.suspended, a.responsible, a.owner_id, o.active AS owner_is_active, h.host
	FROM site_hosts h JOIN sites t ON t.application_id = h.application_id JOIN applications a ON a.id = t.application_id
	LEFT JOIN users o ON o.id = a.owner_id `

// hostOfSite is a site with one of its hosts.
type hostOfSite struct {
	Site
	Host string `db:"host"`
}

// SiteOfHost reads the site of a host. Of its hosts it has this one.
func (s *Store) SiteOfHost(ctx context.Context, host string) (Site, error) {
	var found hostOfSite
	err := s.get(ctx, &found, selectSite+`WHERE h.host = $1`, host)
	found.Hosts = []string{found.Host}
	return found.Site, err
}

// Sites lists all sites by name.
func (s *Store) Sites(ctx context.Context) ([]Site, error) {
	var rows []hostOfSite
	err := s.all(ctx, &rows, selectSite+`ORDER BY LOWER(a.name), a.id, h.host`)
	var sites []Site
	for _, row := range rows {
		if n := len(sites); n == 0 || sites[n-1].ApplicationID != row.ApplicationID {
			sites = append(sites, row.Site)
		}
		last := &sites[len(sites)-1]
		last.Hosts = append(last.Hosts, row.Host)
	}
	return sites, err
}

// ErrHostTaken means that a host belongs to another site.
var ErrHostTaken = errors.New("the host belongs to another site")

// setSites makes an application a site, or changes what it has as one. It does nothing after an error.
func (t tx) setSites(id string, of []Site, err error) error {
	for _, n := range of {
		if err == nil {
			_, err = t.exec(`INSERT INTO sites (application_id, public_paths, assertion, suspended) VALUES ($1, $2, $3, $4)
				ON CONFLICT (application_id) DO UPDATE SET public_paths = excluded.public_paths,
				assertion = excluded.assertion, suspended = excluded.suspended`, id, n.PublicPaths, n.Assertion, n.Suspended)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM site_hosts WHERE application_id = $1`, id)
		}
		for _, host := range n.Hosts {
			if err == nil {
				_, err = t.exec(`INSERT INTO site_hosts (host, application_id) VALUES ($1, $2)`, host, id)
				if err == ErrConflict {
					err = ErrHostTaken
				}
			}
		}
	}
	return err
}

// SiteSession is the session of a person at one host of a site. It is worth nothing without the session of the person.
type SiteSession struct {
	Digest        string `db:"digest"` // of the cookie
	SessionID     string `db:"session_id"`
	Host          string `db:"host"`
	ApplicationID string `db:"application_id"`
	ExpiresAt     int64  `db:"expires_at"`

	// The person, and how the person has signed in.
	UserID    string   `db:"user_id"`
	Username  string   `db:"username"`
	Email     string   `db:"email"`
	FirstName string   `db:"first_name"`
	LastName  string   `db:"last_name"`
	Profile   string   `db:"profile"`
	AMR       string   `db:"amr"`
	SeenAt    int64    `db:"seen_at"`
	OwnerID   *string  `db:"owner_id"` // of the application
	Groups    []string `db:"-"`
	ChangesAt int64    `db:"-"` // when the first membership of the person ends; 0: never
}

// FullName returns the first and the last name, or "".
func (n SiteSession) FullName() string { return strings.TrimSpace(n.FirstName + " " + n.LastName) }

// SiteCode is an authorization code with everything to which it is bound.
type SiteCode struct{ Digest, ApplicationID, RedirectURI, Challenge string }

// RedeemForSite redeems an authorization code for the session of a site, which replaces an earlier one of the same
// session of the person and the same host. It returns ErrSpent if there is no such code, if it was used or has expired,
// or if the session of the person has ended.
func (s *Store) RedeemForSite(ctx context.Context, code SiteCode, digest, host string, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		var grant struct {
			SessionID  string `db:"session_id"`
			Generation int64  `db:"generation"`
		}
		err := t.write(&grant, `DELETE FROM grants WHERE code_digest = $1 AND application_id = $2 AND redirect_uri = $3
			AND code_challenge = $4 AND grant_type = 'authorization_code' AND code_used_at IS NULL AND code_expires_at > $5
			RETURNING session_id, generation`, code.Digest, code.ApplicationID, code.RedirectURI, code.Challenge, now)
		if err == ErrNotFound {
			return ErrSpent
		}
		if err != nil {
			return err
		}
		return t.spend(`INSERT INTO site_sessions (digest, session_id, host, application_id, generation, created_at,
			expires_at)
			SELECT CAST($1 AS TEXT), id, CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), expires_at
			FROM sessions WHERE id = $2 AND expires_at > $6
			ON CONFLICT (session_id, host) DO UPDATE SET digest = excluded.digest, application_id = excluded.application_id,
			generation = excluded.generation, created_at = excluded.created_at, expires_at = excluded.expires_at`,
			digest, grant.SessionID, host, code.ApplicationID, grant.Generation, now)
	})
}

// SiteSession reads a session of a site if everything on which it depends allows it now: it is of this host and its
// application, and the session of the person lasts, was used after idleSince, and is that of an active person whose
// groups let them use the application.
func (s *Store) SiteSession(ctx context.Context, digest, host string, now, idleSince int64) (SiteSession, error) {
	var rows []struct {
		SiteSession
		Group *string `db:"group_name"`
		Until *int64  `db:"until"`
	}
	err := s.all(ctx, &rows, `SELECT w.digest, w.session_id, w.host, w.application_id, s.expires_at, s.amr, s.seen_at,
		u.id AS user_id, u.username, u.email, u.first_name, u.last_name, u.profile, a.owner_id, m.group_name,
		m.expires_at AS until
		FROM site_sessions w JOIN site_hosts h ON h.host = w.host AND h.application_id = w.application_id
		JOIN applications a ON a.id = w.application_id AND a.generation = w.generation
		JOIN sessions s ON s.id = w.session_id JOIN users u ON u.id = s.user_id
		LEFT JOIN users o ON o.id = a.owner_id
		LEFT JOIN memberships m ON m.user_id = u.id AND `+inForce("$3")+`
		WHERE w.digest = $1 AND w.host = $2 AND w.expires_at > $3 AND s.expires_at > $3 AND s.seen_at > $4 AND u.active
		AND (a.responsible = 'operator' OR a.responsible = 'owner' AND o.active) AND `+mayUse("$3")+`
		ORDER BY m.group_name`, digest, host, now, idleSince)
	if err != nil {
		return SiteSession{}, err
	}
	if len(rows) == 0 {
		return SiteSession{}, ErrNotFound
	}
	found := rows[0].SiteSession
	for _, row := range rows {
		if row.Group != nil {
			found.Groups = append(found.Groups, *row.Group)
		}
		if row.Until != nil && *row.Until > 0 && (found.ChangesAt == 0 || *row.Until < found.ChangesAt) {
			found.ChangesAt = *row.Until
		}
	}
	return found, nil
}

// EndSiteSession ends the session of a site. The session of the person stays.
func (s *Store) EndSiteSession(ctx context.Context, digest, host string) error {
	return s.atomically(ctx, func(t tx) error {
		ended, err := t.texts(`DELETE FROM site_sessions WHERE digest = $1 AND host = $2 RETURNING session_id`, digest, host)
		for _, id := range ended {
			t.changed(OfSession, id)
		}
		return err
	})
}
