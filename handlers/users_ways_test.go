package handlers

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mandate/provider"
	"mandate/provider/seal"
	"mandate/storage"
)

// An account of another server, or a passkey, that somebody else has added must not stay because no page has a button for
// it.
func TestAdministratorEndsEachPartOfAPerson(t *testing.T) {
	s := newSite(t, "")
	ctx := t.Context()
	u, err := s.provider.People.UserByName(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	n := storage.Session{ID: seal.Random(16), Digest: seal.Random(32), UserID: u.ID, AuthTime: u.CreatedAt, SeenAt: u.CreatedAt, ExpiresAt: u.CreatedAt + 3600, AMR: "pwd"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.store.AddSession(ctx, n, "", u.Password, 0))
	renew := func() storage.Renewal {
		r := storage.Renewal{ID: n.ID, Was: n.Digest, Session: n}
		r.Session.Digest = seal.Random(32)
		n = r.Session
		return r
	}
	id := base64.RawURLEncoding.EncodeToString([]byte("the passkey of a thief"))
	must(s.store.AddPasskey(ctx, storage.Passkey{ID: id, UserID: u.ID, PublicKey: "x", Name: "Thief's phone", CreatedAt: u.CreatedAt}, renew(), 20))
	must(s.store.AddIdentity(ctx, storage.Identity{Issuer: "https://other.example", Subject: "thief", UserID: u.ID, CreatedAt: u.CreatedAt}, renew(), 20))

	path := s.userPage(u)
	root, old := s.as(t, "root"), s.aged(t, "root", 301)
	shown := root.get(t, path)
	shown.wants(t, http.StatusOK, "https://other.example", "Applications that may act for them")
	buttons := regexp.MustCompile(`href="(`+path+`(?:passkeys|identities)/[^"]+/remove/)"`).FindAllStringSubmatch(shown.body, -1)
	if len(buttons) != 1 {
		t.Fatalf("%d buttons\n%s", len(buttons), shown.body)
	}
	// At the address of this site browsers offer no passkeys, so the page lists none. One that was made elsewhere goes too.
	buttons = append(buttons, []string{"", path + "passkeys/" + id + "/remove/"})
	for _, button := range buttons {
		s.as(t, "alice").post(t, button[1]).wants(t, http.StatusForbidden)
		got := old.post(t, button[1])
		got.wants(t, http.StatusSeeOther)
		if !strings.Contains(got.Header.Get("Location"), "reason=confirm") {
			t.Errorf("%s without a fresh sign-in: %s", button[1], got.Header.Get("Location"))
		}
		old.get(t, button[1]).wants(t, http.StatusSeeOther)
		root.get(t, button[1]).wants(t, http.StatusOK, "alice", "It no longer signs the person in")
		root.follow(t, root.post(t, button[1])).wants(t, http.StatusOK, "It no longer signs the person in.")
		root.post(t, button[1]).wants(t, http.StatusNotFound)
	}
	keys, err := s.store.PasskeysOf(ctx, u.ID)
	if err != nil || len(keys) != 0 {
		t.Error(keys, err)
	}
	accounts, err := s.store.IdentitiesOf(ctx, u.ID)
	if err != nil || len(accounts) != 0 {
		t.Error(accounts, err)
	}
	root.get(t, path+"applications/nothing/revoke/").wants(t, http.StatusNotFound)
	root.post(t, path+"applications/nothing/revoke/").wants(t, http.StatusNotFound)
}

func (s *site) userPage(u provider.User) string { return "/admin/users/" + u.ID + "/" }

// Whoever becomes an administrator may have a session that somebody else has a copy of, and that is weaker than the policy
// demands of administrators.
func TestPromotionEndsSessions(t *testing.T) {
	s := newSite(t, "")
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	before := s.as(t, "alice")
	before.get(t, "/account/").wants(t, http.StatusOK)
	s.as(t, "root").post(t, s.userPage(u), "username", "alice", "active", "on", "administrator", "on").wants(t, http.StatusSeeOther)
	before.get(t, "/account/").wants(t, http.StatusSeeOther)
	before.get(t, "/admin/users/").wants(t, http.StatusSeeOther)
	s.as(t, "alice").get(t, "/admin/users/").wants(t, http.StatusOK)
}

// A session that began before the person had a second factor is too weak for the pages of administrators.
func TestAdministratorsPagesAskForTheSecondFactor(t *testing.T) {
	s := newSite(t, "")
	root, err := s.provider.People.UserByName(context.Background(), "root")
	if err != nil {
		t.Fatal(err)
	}
	weak := s.as(t, "root")
	weak.get(t, "/admin/users/").wants(t, http.StatusOK)
	n := storage.Session{ID: seal.Random(16), Digest: seal.Random(32), UserID: root.ID, AuthTime: root.CreatedAt, SeenAt: root.CreatedAt, ExpiresAt: root.CreatedAt + 3600, AMR: "pwd"}
	err = s.store.AddSession(t.Context(), n, "", root.Password, 0)
	r := storage.Renewal{ID: n.ID, Was: n.Digest, Session: n}
	r.Session.Digest = seal.Random(32)
	if err == nil {
		r.Session.Factor.New = &storage.TOTP{UserID: root.ID, Secret: "x", CreatedAt: root.CreatedAt}
		err = s.store.StrengthenSession(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/admin/users/", "/admin/users/" + root.ID + "/", "/admin/groups/", "/admin/resources/", "/admin/events/", "/admin/invitations/"} {
		got := weak.get(t, path)
		got.wants(t, http.StatusSeeOther)
		if next := got.Header.Get("Location"); !strings.HasPrefix(next, "/login/factor/") {
			t.Errorf("%s leads to %q", path, next)
		}
	}
	weak.get(t, "/account/").wants(t, http.StatusOK)
}
