package storage

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ear records the changes that a store reports.
type ear struct {
	mu    sync.Mutex
	heard []Change
	more  chan struct{}
}

func listenTo(s *Store) *ear {
	e := &ear{more: make(chan struct{}, 1)}
	s.OnChange(func(changes []Change) {
		e.mu.Lock()
		e.heard = append(e.heard, changes...)
		e.mu.Unlock()
		select {
		case e.more <- struct{}{}:
		default:
		}
	})
	return e
}

func (e *ear) take() []Change {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard
	e.heard = nil
	return heard
}

// ofToken lists the changes on which a cached token depends.
func ofToken(live LiveToken) []Change {
	depends := []Change{{OfAll, ""}, {OfToken, live.Digest}, {OfApplication, live.Application}}
	for kind, id := range map[string]*string{OfGrant: live.GrantID, OfUser: live.UserID, OfSession: live.SessionID} {
		if id != nil {
			depends = append(depends, Change{kind, *id})
		}
	}
	return depends
}

func touches(heard, depends []Change) bool {
	return slices.ContainsFunc(heard, func(c Change) bool { return slices.Contains(depends, c) })
}

// endings lists every operation that may change a token or its application.
func endings(w world, u User, a Application, f family, n Session) map[string]func(ctx context.Context) error {
	drop := func(_ any, err error) error { return err }
	return map[string]func(ctx context.Context) error{
		"RevokeToken":   func(ctx context.Context) error { return w.RevokeToken(ctx, f.access) },
		"RevokeGrant":   func(ctx context.Context) error { return w.RevokeGrant(ctx, f.ID) },
		"RevokeConsent": func(ctx context.Context) error { return w.RevokeConsent(ctx, u.ID, a.ID) },
		"DisableUser":   func(ctx context.Context) error { return w.DisableUser(ctx, u.ID, at) },
		"DeleteUser": func(ctx context.Context) error {
			return w.DeleteUser(ctx, u.ID, at, Handover{Responsible: ByOperator})
		},
		"SetPassword": func(ctx context.Context) error { return w.SetPassword(ctx, u.ID, "new", at) },
		"ChangePassword": func(ctx context.Context) error {
			return w.ChangePassword(ctx, u.Password, "new", at, renewal(n), false)
		},
		"EndSession":        func(ctx context.Context) error { return w.EndSession(ctx, u.ID, n.ID, at, false) },
		"EndSessions":       func(ctx context.Context) error { return drop(w.EndSessions(ctx, u.ID, at)) },
		"EndOldSessions":    func(ctx context.Context) error { return drop(w.EndOldSessions(ctx, later, later, 10)) },
		"DeleteApplication": func(ctx context.Context) error { return w.DeleteApplication(ctx, a.ID) },
		"AssignApplication": func(ctx context.Context) error { return w.AssignApplication(ctx, a, nil, ByOwner, at) },
		"RotateSecret":      func(ctx context.Context) error { return w.RotateSecret(ctx, a.ID, a.Secret, "new", later, at) },
		"UpdateApplication": func(ctx context.Context) error {
			b := a
			b.Name, b.MayIntrospect = "New", true
			return w.UpdateApplication(ctx, b, a)
		},
		"UpdateUser": func(ctx context.Context) error {
			b := u
			b.Username, b.UsernameKey = u.Username+" renamed", u.UsernameKey+" renamed"
			return w.UpdateUser(ctx, b, nil, nil, Beside{})
		},
	}
}

// boundFamily adds a token family that ends with its session.
func (w world) boundFamily(t *testing.T, n Session, applicationID string) family {
	t.Helper()
	g := newGrant(n.UserID, applicationID)
	g.SessionID, g.SessionEndsAt = n.ID, later
	pair := newPair(g.ID)
	must(t, w.AddGrant(t.Context(), g, "", ""))
	must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
	return family{g, pair[0].Digest, pair[1].Digest}
}

// looseFamily adds a token family that has outlived its session. The end of the
// person's sessions does not report it.
func (w world) looseFamily(t *testing.T, userID, applicationID string) family {
	t.Helper()
	f := w.family(t, userID, applicationID)
	must(t, w.EndSession(t.Context(), userID, f.SessionID, at, true))
	return f
}

// Every change that makes a cached copy wrong is reported: in this process before the
// call returns, and also in another process.
func TestWhateverChangesATokenIsTold(t *testing.T) {
	names := slices.Sorted(maps.Keys(endings(world{}, User{}, Application{}, family{}, Session{})))
	each(t, func(t *testing.T, w world) {
		node := opened(t, w.url)
		there := listenTo(node)
		heard := make(chan time.Time, 1000)
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- node.Listen(ctx, func(at time.Time) { heard <- at }) }()
		<-heard
		here := listenTo(w.Store)
		for i := range 2 * len(names) {
			name, bound := names[i/2], i%2 == 0
			u, a := w.person(t, fmt.Sprint("user ", i)), w.application(t, fmt.Sprint("App ", i))
			n, f := w.session(t, u.ID), family{}
			if bound {
				f = w.boundFamily(t, n, a.ID)
			} else {
				f = w.looseFamily(t, u.ID, a.ID)
			}
			before, err := w.TokenByDigest(t.Context(), f.access, at)
			must(t, err)
			client, err := w.ApplicationByClientID(t.Context(), a.ClientID)
			must(t, err)
			here.take()
			there.take()
			must(t, endings(w, u, a, f, n)[name](t.Context()))
			told := here.take()
			after, err := w.TokenByDigest(t.Context(), f.access, at)
			if (err != nil || !reflect.DeepEqual(before, after)) && !touches(told, ofToken(before)) {
				t.Errorf("%s changes a token of a family (bound to a session: %t), and notifies only of %v", name, bound, told)
			}
			later, err := w.ApplicationByClientID(t.Context(), a.ClientID)
			if (err != nil || !reflect.DeepEqual(client, later)) && !touches(told, []Change{{OfApplication, a.ID}}) {
				t.Errorf("%s changes an application, and notifies only of %v", name, told)
			}
			if len(told) == 0 {
				continue
			}
			for heard := []Change(nil); !touches(heard, append(told, Change{OfAll, ""})); heard = append(heard,
				there.take()...) {
				select {
				case <-there.more:
				case <-time.After(30 * time.Second):
					t.Fatalf("%s: the other node receives no notification of %v", name, told)
				}
			}
		}
		stop()
		is(t, "Listen", <-over, nil)
	})
}

// A token family that was kept when its session ended is revoked when all sessions of
// the person are ended, even if there are none.
func TestEndOfAKeptFamilyIsTold(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		u, a := w.person(t, "alice"), w.application(t, "App")
		n := w.session(t, u.ID)
		g := newGrant(u.ID, a.ID)
		g.SessionID, g.SessionEndsAt = n.ID, later
		pair := newPair(g.ID)
		must(t, w.AddGrant(t.Context(), g, "", ""))
		must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
		must(t, w.EndSession(t.Context(), u.ID, n.ID, at, true))
		kept, err := w.TokenByDigest(t.Context(), pair[0].Digest, at)
		must(t, err)
		here := listenTo(w.Store)
		_, err = w.EndSessions(t.Context(), u.ID, at)
		must(t, err)
		_, err = w.TokenByDigest(t.Context(), pair[0].Digest, at)
		is(t, "TokenByDigest", err, ErrNotFound)
		if told := here.take(); !touches(told, ofToken(kept)) {
			t.Errorf("notified only of %v", told)
		}
	})
}

func TestWhatDidNotHappenIsNotTold(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		u, a, _ := w.scene(t, "alice")
		here := listenTo(w.Store)
		is(t, "EndSession", w.EndSession(t.Context(), u.ID, "unknown", at, false), ErrNotFound)
		is(t, "RotateSecret", w.RotateSecret(t.Context(), a.ID, "another", "new", at, at), ErrSpent)
		race(20, func(i int) error { // together with changes that succeed
			if i%2 == 0 {
				return w.AddGroup(context.Background(), fmt.Sprint("group ", i), at)
			}
			return w.RevokeConsent(context.Background(), "nobody", a.ID)
		})
		if told := here.take(); len(told) > 0 {
			t.Errorf("notified of %v", told)
		}
	})
}

func TestChangesAreCarriedAsTheyAre(t *testing.T) {
	changes := []Change{{OfToken, "digest"}, {OfAll, ""}, {OfUser, "id with space"}}
	if got := decodeChanges(encodeChanges(changes)); !slices.Equal(got, changes) {
		t.Errorf("got %v, want %v", got, changes)
	}
	many := slices.Repeat([]Change{{OfSession, strings.Repeat("x", 26)}}, 1000)
	if got := decodeChanges(encodeChanges(many)); !slices.Equal(got, []Change{{OfAll, ""}}) {
		t.Errorf("more than a notification can contain: %v", got)
	}
}

// Listen returns when its connection is lost. Changes during the interruption are
// unknown.
func TestListenEndsWithItsConnection(t *testing.T) {
	w := migrated(t, postgresURL(t))
	node := opened(t, withParameter(t, w.url, "application_name", "listener"))
	there := listenTo(node)
	heard := make(chan time.Time, 1000)
	over := make(chan error)
	go func() { over <- node.Listen(t.Context(), func(at time.Time) { heard <- at }) }()
	<-heard
	if told := there.take(); !slices.Contains(told, Change{OfAll, ""}) {
		t.Errorf("a node that begins to listen may have older copies, and is notified of %v", told)
	}
	n := count(t, w.Store, `SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'listener'`)
	if n == 0 {
		t.Fatal("nobody listens")
	}
	select {
	case err := <-over:
		if err == nil {
			t.Error("Listen ended without a reason")
		}
	case <-time.After(30 * time.Second):
		t.Error("Listen continues without a connection")
	}
}
