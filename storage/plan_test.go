package storage

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
)

// hot runs the statements of ordinary requests and returns their texts.
func hot(t *testing.T, w world) []string {
	t.Helper()
	alice, a, f := w.scene(t, "alice")
	n := w.session(t, alice.ID)
	pair := newPair(f.ID)
	key, identity := newPasskey(alice.ID), newIdentity(alice.ID)
	root, link := w.administrator(t, "root"), w.invitation(t, rand.Text()+"@example.com")
	w.excludes(t, alice)
	own := Token{Digest: "own", ApplicationID: &a.ID, ExpiresAt: later}
	var texts []string
	s := world{opened(t, w.url), w.url} // does not record the statements of the preparation
	for range 2 {                       // prepared the second time
		for _, err := range []error{
			second(s.ApplicationByClientID(t.Context(), a.ClientID)),
			second(s.Application(t.Context(), a.ID)),
			second(s.UserByID(t.Context(), alice.ID)),
			second(s.UserByKey(t.Context(), "alice")),
			second(s.WasUsername(t.Context(), "alice")),
			second(s.UserByNumber(t.Context(), alice.Number)),
			second(s.GroupsOf(t.Context(), alice.ID, at)),
			second(s.Setting(t.Context(), "last_user_number")),
			second(s.TokenByDigest(t.Context(), f.access, at)),
			second(s.RefreshTokenByDigest(t.Context(), f.refresh, at)),
			second(s.TokenOfGrant(t.Context(), f.ID, at)),
			second(s.TokenOfApplication(t.Context(), a.ID, "never revoked", 0)),
			s.RevokeSigned(t.Context(), Token{Digest: "revoked", ApplicationID: &a.ID, ExpiresAt: later}, at),
			second(s.GrantByCode(t.Context(), *f.CodeDigest, at)),
			second(s.SessionByDigest(t.Context(), n.Digest, at, 0)),
			second(s.SessionsOf(t.Context(), alice.ID, at, 0)),
			second(s.Factors(t.Context(), alice.ID)),
			allow(ErrNotFound, second(s.TOTP(t.Context(), alice.ID))),
			second(s.FactorDue(t.Context(), alice.ID, at)),
			allow(ErrFactorUsed, s.StrengthenSession(t.Context(), renewal(using(n, FactorUse{TOTP: &TOTP{LastStep: 1}})))),
			allow(ErrFactorUsed, s.StrengthenSession(t.Context(), renewal(using(n, FactorUse{Recovery: "none"})))),
			s.TouchSession(t.Context(), n.ID, at, 60),
			allow(ErrNotFound, second(s.SiteOfHost(t.Context(), "wiki.example"))),
			allow(ErrNotFound, second(s.SiteSession(t.Context(), "none", "wiki.example", at, 0))),
			allow(ErrSpent, s.RedeemForSite(t.Context(), SiteCode{Digest: "none"}, "none", "wiki.example", at)),
			s.EndSiteSession(t.Context(), "none", "wiki.example"),
			s.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pair),
			s.KeepRefresh(t.Context(), pair[1].Digest, f.ID, at, later, later, newPair(f.ID)[0]),
			s.KeepConsent(t.Context(), Consent{alice.ID, a.ID, "read", "", at, 0}, n.ID, replace),
			second(s.Consent(t.Context(), alice.ID, a.ID)),
			s.AddRequest(t.Context(), newRequest(), 100, 10, at),
			s.KeepRequest(t.Context(), "none", later),
			s.AddDevice(t.Context(), newDevice(a.ID), 100, 10),
			allow(ErrNotFound, second(s.PollDevice(t.Context(), "none", a.ID, at))),
			allow(ErrNotFound, second(s.DeviceByCode(t.Context(), "none"))),
			allow(ErrNotFound, second(s.DeviceByUserCode(t.Context(), "none", at))),
			allow(ErrNotFound, s.DenyDevice(t.Context(), "none", at)),
			second(s.RegisterApplication(t.Context(), newRegistered("A", "registered"), 0, "", at)),
			second(s.RegistrationByDigest(t.Context(), "registered")),
			s.AddToken(t.Context(), own),
			s.RevokeToken(t.Context(), "own"),
			second(s.Sweep(t.Context(), at, 10)),
			second(s.Oldest(t.Context())),
			second(s.LiveTokens(t.Context(), alice.ID, at, 10)),
			second(s.GrantsOf(t.Context(), alice.ID, a.ID, at, 10)),
			second(s.LiveGrants(t.Context(), alice.ID, at, 10)),
			second(s.Holding(t.Context(), a, nil, at, 10, 10)),
			second(s.Holding(t.Context(), a, &alice.ID, at, 10, 10)),
			second(s.EndSessionsBeyond(t.Context(), alice.ID, "", 10, at)),
			second(s.OwnedBy(t.Context(), alice.ID)),
			s.RevokeGrant(t.Context(), f.ID),
			s.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), n), "owner", ""),
			s.AddGrant(t.Context(), consented(inSession(newGrant(alice.ID, a.ID), n)), "owner", ""),
			second(s.DueLogins(t.Context(), at, 4, 10)),
			s.PauseLogins(t.Context(), a.ID, 1, at),
			second(s.ForgetLogins(t.Context(), a.ID)),
			second(s.EndOldSessions(t.Context(), at, 0, 10)),
			s.ForgetLogin(t.Context(), Login{}),
			s.AddPasskey(t.Context(), key, renewal(n), 100),
			second(s.Passkey(t.Context(), key.ID)),
			second(s.PasskeysOf(t.Context(), alice.ID)),
			s.RenamePasskey(t.Context(), alice.ID, key.ID, "Laptop"),
			signIn(t, s.Store, key, key.SignCount+1),
			s.DeletePasskey(t.Context(), alice.ID, key.ID, Ways{Passkeys: true}, nil),
			s.AddMail(t.Context(), newMail(alice)),
			second(s.DueMails(t.Context(), "", at, 10)),
			allow(ErrSpent, second(s.LeaseMail(t.Context(), Mail{ID: "none"}, later))),
			s.PostponeMail(t.Context(), Mail{ID: "none"}, later),
			s.ForgetMail(t.Context(), Mail{ID: "none"}),
			s.GiveUpMail(t.Context(), Mail{ID: "none", Invitation: &link.ID}),
			allow(ErrNotFound, second(s.InvitationTo(t.Context(), "none@example.com"))),
			s.AddLink(t.Context(), newLink(alice, LinkReset)),
			allow(ErrNotFound, second(s.LinkByDigest(t.Context(), "none", LinkReset, at))),
			allow(ErrSpent, s.ResetByLink(t.Context(), "none", "hash", at)),
			second(s.UsersByEmail(t.Context(), alice.Email, 3)),
			s.AddIdentity(t.Context(), identity, renewal(n), 100),
			allow(ErrSpent, w.linking(t, s.Store, identity, alice)),
			second(s.HadIdentity(t.Context(), alice.ID, "issuer")),
			second(s.Identity(t.Context(), identity.Issuer, identity.Subject)),
			second(s.IdentitiesOf(t.Context(), alice.ID)),
			second(s.UsersByAddress(t.Context(), alice.Email)),
			s.AddInvitations(t.Context(), &root.ID, []NewInvitation{newInvitation(rand.Text() + "@example.com")}, 100),
			allow(ErrNotFound, s.RenewInvitation(t.Context(), "none", newInvitation("x@example.com"), 100)),
			allow(ErrNotFound, second(s.InvitationByDigest(t.Context(), "none", at))),
			allow(ErrNotFound, second(s.Invitation(t.Context(), "none"))),
			second(s.InvitationsOf(t.Context(), root.ID, at)),
			second(s.IsInvited(t.Context(), "x@example.com", at)),
			allow(ErrNotFound, s.DeleteInvitation(t.Context(), "none")),
			s.answersSignUp(t),
			second(s.AcceptInvitation(t.Context(), link.Digest, guest(link), nil)),
			second(s.SetMappedGroups(t.Context(), alice.ID, []string{"staff"}, []string{"staff"}, at)),
			second(s.SetMappedGroups(t.Context(), alice.ID, []string{"staff", "out"}, []string{"out"}, at)),
			second(s.SetMappedGroups(t.Context(), alice.ID, []string{"staff", "out"}, nil, at)),
			second(s.HasUsed(t.Context(), alice.ID, a.ID, at)),
			second(s.TemporaryMemberships(t.Context(), "", alice.ID, at)),
			second(s.EndMemberships(t.Context(), at, 10, newEvent("membership.ended", alice))),
			s.AddSession(t.Context(), by(identity), "", proof(s.Store, n.UserID), 0),
			s.DeleteIdentity(t.Context(), identity, Ways{Passkeys: true}, nil),
			s.EndSession(t.Context(), alice.ID, n.ID, at, false),
			s.DisableUser(t.Context(), alice.ID, at),
			s.UpdateUser(t.Context(), alice, nil, nil, Beside{}),
			s.AddSession(t.Context(), n, "", proof(s.Store, n.UserID), 0),
			s.RevokeConsent(t.Context(), alice.ID, a.ID),
			s.AddEvents(t.Context(), newEvent("kind", alice)),
			s.CountEvent(t.Context(), newEvent("kind", alice), newEvent("kind", alice), 1),
			s.CountRefusals(t.Context(), []CountedRefusal{{newEvent("kind", alice), "r", "re", "other"}}, 1),
			second(s.EventsFrom(t.Context(), "r", "r", 10)),
			second(s.Events(t.Context(), EventFilter{}, 10)),
			second(s.Events(t.Context(), EventFilter{Kind: "kind"}, 10)),
			second(s.Events(t.Context(), EventFilter{PersonID: "person"}, 10)),
			second(s.Events(t.Context(), EventFilter{ActorID: "actor"}, 10)),
			second(s.Events(t.Context(), EventFilter{ObjectID: "object"}, 10)),
			second(s.Events(t.Context(), EventFilter{Address: "address"}, 10)),
			second(s.SweepEvents(t.Context(), at, 10)),
		} {
			must(t, err)
		}
		link = w.invitation(t, rand.Text()+"@example.com")
		f, pair = w.family(t, alice.ID, a.ID), newPair("")
		s.family(t, alice.ID, a.ID)
	}
	s.prepared.Range(func(key, _ any) bool {
		texts = append(texts, key.(preparedKey).query)
		return true
	})
	if len(texts) < 30 {
		t.Fatalf("only %d statements were prepared", len(texts))
	}
	return texts
}

// excludes registers an application that is not for the members of the group out.
func (w world) excludes(t *testing.T, u User) {
	t.Helper()
	_, a, _ := w.scene(t, "owner")
	for _, name := range []string{"staff", "out"} {
		must(t, allow(ErrConflict, w.AddGroup(t.Context(), name, at)))
	}
	w.signedInto(t, u, a)
	w.restrict(t, a, nil, []string{"out"})
}

// answersSignUp answers somebody who asks for an account.
func (w world) answersSignUp(t *testing.T) error {
	t.Helper()
	note, link := w.asked(t, rand.Text()+"@example.com")
	return w.AnswerSignUp(t.Context(), note, link, 100)
}

// allow returns nil in place of an error that does not matter.
func allow(allowed, err error) error {
	if errors.Is(err, allowed) {
		return nil
	}
	return err
}

func inSession(g Grant, n Session) Grant {
	g.SessionID = n.ID
	return g
}

func using(n Session, f FactorUse) Session {
	n.Factor = f
	return n
}

func parameters(query string) int {
	n := 0
	for strings.Contains(query, fmt.Sprint("$", n+1)) {
		n++
	}
	return n
}

func TestHotStatementsNeverScanATable(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		w := migrated(t, sqliteURL(t))
		for _, query := range hot(t, w) {
			plan := []struct {
				ID, Parent, Notused int
				Detail              string
			}{}
			must(t, w.write.SelectContext(t.Context(), &plan, `EXPLAIN QUERY PLAN `+query, make([]any, parameters(query))...))
			for _, step := range plan {
				// The rows of a subquery were found by an index.
				subqueries := []string{"SCAN CONSTANT ROW", "SCAN 2-ROW VALUES CLAUSE", "SCAN x", "SCAN y", "SCAN live"}
				if strings.HasPrefix(step.Detail, "SCAN") && !slices.Contains(subqueries, step.Detail) &&
					!strings.HasPrefix(step.Detail, "SCAN (subquery") {
					t.Errorf("%s in\n%s", step.Detail, query)
				}
			}
		}
	})
	t.Run("postgres", func(t *testing.T) {
		w := migrated(t, postgresURL(t))
		queries := hot(t, w)
		fill(t, w)
		conn, err := w.write.Connx(t.Context())
		must(t, err)
		defer conn.Close()
		for _, query := range queries {
			explain(t, conn, query)
		}
	})
}

// fill adds so many rows to PostgreSQL's tables that a full scan is never the best
// plan.
func fill(t *testing.T, w world) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO users SELECT 'u' || i, 1000 + i, 'u' || i, 'u' || i, 'u' || i, '', '', '', TRUE, FALSE, i, i
			FROM generate_series(1, 5000) i`,
		`INSERT INTO applications SELECT 'a' || i, 'a' || i, 'a' || i, 'u' || i, '', '', '', '', TRUE, '', '', 0, FALSE,
			FALSE, FALSE, 0, 0, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO groups SELECT 'g' || i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO memberships SELECT 'u' || i, 'g' || i FROM generate_series(1, 5000) i`,
		`INSERT INTO group_administrators SELECT 'g' || i, 'u' || i FROM generate_series(1, 5000) i`,
		`INSERT INTO consents SELECT 'u' || i, 'a' || i, '', i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO sessions SELECT 's' || i, 's' || i, 'u' || i, i, i, i, '', '' FROM generate_series(1, 5000) i`,
		`INSERT INTO settings SELECT 's' || i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO grants SELECT 'g' || i, '', 'a' || i, 'u' || i, '', '', i, i, i, 'c' || i, i, NULL, '', '', TRUE
			FROM generate_series(1, 5000) i`,
		`INSERT INTO tokens SELECT 't' || i, FALSE, 'g' || i, NULL, '', i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO logins SELECT 's' || i, 'a' || i, 'u' || i, '', 'o' || i, i % 2 * i, 0, i
			FROM generate_series(1, 5000) i`,
		`INSERT INTO devices SELECT 'd' || i, 'd' || i, 'a' || i, '', '', 'pending', 5, 0, 'c' || i, '', '', '', i, i
			FROM generate_series(1, 5000) i`,
		`INSERT INTO initial_tokens SELECT 'i' || i, 'i' || i, TRUE, NULL, '', '', i, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO requests SELECT 'r' || i, 'c' || i, '', 'q' || i, '', i, i, NULL FROM generate_series(1, 5000) i`,
		`INSERT INTO passkeys SELECT 'p' || i, 'u' || i, '', '', i, TRUE, TRUE, '', '', i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO links SELECT 'l' || i, 'reset', 'u' || i, '', i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO invitations SELECT 'i' || i, 'i' || i, 'a' || i, TRUE, i % 2 = 0, 'u' || i, '', i, i
			FROM generate_series(1, 5000) i`,
		`INSERT INTO mails SELECT 'm' || i, 'k' || i, 'u' || i, 'l' || i, '', 0, i, i, i, 'i' || i, '', ''
			FROM generate_series(1, 5000) i`,
		`INSERT INTO mail_counts SELECT 'r' || i, i, 1, i FROM generate_series(1, 5000) i`,
		`INSERT INTO identities SELECT 'i' || i % 3, 's' || i, 'u' || i, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO former_identities SELECT 'u' || i, 'i' || i % 3 FROM generate_series(1, 5000) i`,
		`INSERT INTO former_usernames SELECT 'd' || i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO seen SELECT 's' || i, i, '' FROM generate_series(1, 5000) i`,
		`INSERT INTO sites SELECT 'a' || i, '', FALSE FROM generate_series(1, 5000) i`,
		`INSERT INTO site_hosts SELECT 'h' || i, 'a' || i FROM generate_series(1, 5000) i`,
		`INSERT INTO site_sessions SELECT 'd' || i, 's' || i, 'h' || i, 'a' || i, 0, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO totps SELECT 'u' || i, 's', i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO recovery_codes SELECT 'c' || i, 'u' || i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO events SELECT 'e' || i, i, i, 1, 'k' || i % 40, 'person', 'a' || i, '', 'n' || i, '', 'u' || i, '', '',
			'o' || i, '', '' FROM generate_series(1, 5000) i`,
		`ANALYZE`,
	} {
		_, err := w.write.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// explain returns the generic plan, which PostgreSQL uses for a frequent statement. A
// sweep is planned with its own small limit.
func explain(t *testing.T, conn *sqlx.Conn, query string) {
	t.Helper()
	values, mode := strings.TrimSuffix(strings.Repeat("NULL, ", parameters(query)), ", "), "force_generic_plan"
	if strings.Contains(query, "LIMIT $2") {
		values, mode = "100, 50", "force_custom_plan"
	}
	if values != "" {
		values = "(" + values + ")"
	}
	for _, statement := range []string{`SET plan_cache_mode = ` + mode, `PREPARE hot AS ` + query} {
		_, err := conn.ExecContext(t.Context(), statement)
		must(t, err)
	}
	var text string
	must(t, conn.GetContext(t.Context(), &text, `EXPLAIN (FORMAT JSON) EXECUTE hot `+values))
	_, err := conn.ExecContext(t.Context(), `DEALLOCATE hot`)
	must(t, err)
	var plans []struct{ Plan planNode }
	must(t, json.Unmarshal([]byte(text), &plans))
	plans[0].Plan.check(t, query)
}

type planNode struct {
	Type  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Cond  string `json:"Index Cond"`
	Plans []planNode
}

// check reports a table that is read without a condition on an index.
func (n planNode) check(t *testing.T, query string) {
	t.Helper()
	if n.Type == "Seq Scan" || strings.HasPrefix(n.Type, "Index") && n.Cond == "" {
		t.Errorf("%s of %s in\n%s", n.Type, n.Table, query)
	}
	for _, below := range n.Plans {
		below.check(t, query)
	}
}
