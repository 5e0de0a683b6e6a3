package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"testing"

	"mandate/storage/postgrestest"
)

// calls holds each exported method that uses the database, with valid arguments.
func calls(s *Store) map[string]func(ctx context.Context) error {
	u, a, g := newUser("x"), newApplication("x"), newGrant("x", "x")
	pair := newPair(g.ID)
	drop := func(_ any, err error) error { return err }
	return map[string]func(ctx context.Context) error{
		"SiteOfHost": func(ctx context.Context) error { return drop(s.SiteOfHost(ctx, "x")) },
		"Sites":      func(ctx context.Context) error { return drop(s.Sites(ctx)) },
		"RedeemForSite": func(ctx context.Context) error {
			return s.RedeemForSite(ctx, SiteCode{"x", "x", "x", "x"}, "x", "x", at)
		},
		"SiteSession":    func(ctx context.Context) error { return drop(s.SiteSession(ctx, "x", "x", at, 0)) },
		"EndSiteSession": func(ctx context.Context) error { return s.EndSiteSession(ctx, "x", "x") },
		"AddApplication": func(ctx context.Context) error { return s.AddApplication(ctx, a, 0) },
		"AddFirstUser":   func(ctx context.Context) error { return s.AddFirstUser(ctx, u) },
		"AddGrant":       func(ctx context.Context) error { return s.AddGrant(ctx, g, "", "") },
		"AddRequest": func(ctx context.Context) error {
			return s.AddRequest(ctx, Request{Digest: "x", ExpiresAt: later}, 1, 1, at)
		},
		"Request":            func(ctx context.Context) error { return drop(s.Request(ctx, "x")) },
		"UseRequest":         func(ctx context.Context) error { return s.UseRequest(ctx, "x", at) },
		"AddGrantWithTokens": func(ctx context.Context) error { return s.AddGrantWithTokens(ctx, g, pair, "hash") },
		"Launches.Of":        func(ctx context.Context) error { return drop(Launches{s}.Of(ctx, "x", "", at, 1)) },
		"AddressChanges.Link": func(ctx context.Context) error {
			_, _, err := AddressChanges{s}.Link(ctx, "x", LinkNewAddress, at)
			return err
		},
		"AddressChanges.Confirm": func(ctx context.Context) error {
			return AddressChanges{s}.Confirm(ctx, "x", Renewal{}, at, AddressChange{})
		},
		"AddressChanges.Return": func(ctx context.Context) error {
			return AddressChanges{s}.Return(ctx, "x", at, AddressChange{})
		},
		"AddGroup":      func(ctx context.Context) error { return s.AddGroup(ctx, "x", at) },
		"ProveWrite":    func(ctx context.Context) error { return s.ProveWrite(ctx) },
		"AddKey":        func(ctx context.Context) error { return s.AddKey(ctx, Key{ID: "x", Kind: "EC"}, later) },
		"Identity":      func(ctx context.Context) error { return drop(s.Identity(ctx, "x", "x")) },
		"IdentitiesOf":  func(ctx context.Context) error { return drop(s.IdentitiesOf(ctx, "x")) },
		"AddIdentity":   func(ctx context.Context) error { return s.AddIdentity(ctx, newIdentity("x"), Renewal{}, 1) },
		"InvitationsBy": func(ctx context.Context) error { return drop(s.InvitationsBy(ctx, "x", at, 1)) },
		"HadIdentity":   func(ctx context.Context) error { return drop(s.HadIdentity(ctx, "x", "x")) },
		"AddUserWithIdentity": func(ctx context.Context) error {
			return drop(s.AddUserWithIdentity(ctx, u, newIdentity(u.ID), InvitedNeeded))
		},
		"AddInvitations": func(ctx context.Context) error {
			return s.AddInvitations(ctx, nil, []NewInvitation{newInvitation("x@example.com")}, 1)
		},
		"RenewInvitation": func(ctx context.Context) error {
			return s.RenewInvitation(ctx, "x", newInvitation("x@example.com"), 1)
		},
		"InvitationByDigest": func(ctx context.Context) error { return drop(s.InvitationByDigest(ctx, "x", at)) },
		"Invitation":         func(ctx context.Context) error { return drop(s.Invitation(ctx, "x")) },
		"Invitations": func(ctx context.Context) error {
			_, _, err := s.Invitations(ctx, "", 1, 0)
			return err
		},
		"InvitationTo":     func(ctx context.Context) error { return drop(s.InvitationTo(ctx, "x@example.com")) },
		"InvitationsOf":    func(ctx context.Context) error { return drop(s.InvitationsOf(ctx, "x", at)) },
		"IsInvited":        func(ctx context.Context) error { return drop(s.IsInvited(ctx, "x@example.com", at)) },
		"DeleteInvitation": func(ctx context.Context) error { return s.DeleteInvitation(ctx, "x") },
		"AnswerSignUp":     func(ctx context.Context) error { return s.AnswerSignUp(ctx, Mail{ID: "x"}, nil, 1) },
		"AcceptInvitation": func(ctx context.Context) error { return drop(s.AcceptInvitation(ctx, "x", u, nil)) },
		"UsersByAddress":   func(ctx context.Context) error { return drop(s.UsersByAddress(ctx, "x")) },
		"ForgetIdentity":   func(ctx context.Context) error { return s.ForgetIdentity(ctx, newIdentity("x"), Ways{}) },
		"DeleteIdentity": func(ctx context.Context) error {
			return s.DeleteIdentity(ctx, newIdentity("x"), Ways{}, nil)
		},
		"SetMappedGroups": func(ctx context.Context) error {
			return drop(s.SetMappedGroups(ctx, "x", []string{"x"}, nil, at))
		},
		"AddPasskey":    func(ctx context.Context) error { return s.AddPasskey(ctx, newPasskey("x"), Renewal{}, 1) },
		"Passkey":       func(ctx context.Context) error { return drop(s.Passkey(ctx, "x")) },
		"PasskeysOf":    func(ctx context.Context) error { return drop(s.PasskeysOf(ctx, "x")) },
		"RenamePasskey": func(ctx context.Context) error { return s.RenamePasskey(ctx, "x", "x", "x") },
		"DeletePasskey": func(ctx context.Context) error {
			return s.DeletePasskey(ctx, "x", "x", Ways{Passkeys: true}, nil)
		},
		"AddSession":            func(ctx context.Context) error { return s.AddSession(ctx, newSession("x"), "", "hash", 0) },
		"AddSetting":            func(ctx context.Context) error { return drop(s.AddSetting(ctx, "x", "x")) },
		"AddToken":              func(ctx context.Context) error { return s.AddToken(ctx, pair[0]) },
		"AddUsers":              func(ctx context.Context) error { return s.AddUsers(ctx, []NewUser{{User: u}}) },
		"AddUser":               func(ctx context.Context) error { return s.AddUser(ctx, u, nil) },
		"Application":           func(ctx context.Context) error { return drop(s.Application(ctx, "x")) },
		"ApplicationByClientID": func(ctx context.Context) error { return drop(s.ApplicationByClientID(ctx, "x")) },
		"Applications": func(ctx context.Context) error {
			_, _, err := s.Applications(ctx, Selection{}, 1, 0)
			return err
		},
		"AssignApplication": func(ctx context.Context) error {
			return s.AssignApplication(ctx, a, nil, ByOperator, at)
		},
		"EnableUser": func(ctx context.Context) error { return s.EnableUser(ctx, "x", at) },
		"EndSessionsBeyond": func(ctx context.Context) error {
			return drop(s.EndSessionsBeyond(ctx, "x", "x", 1, at))
		},
		"LiveGrants":               func(ctx context.Context) error { return drop(s.LiveGrants(ctx, "x", at, 1)) },
		"GrantsOf":                 func(ctx context.Context) error { return drop(s.GrantsOf(ctx, "x", "x", at, 1)) },
		"LiveTokens":               func(ctx context.Context) error { return drop(s.LiveTokens(ctx, "x", at, 1)) },
		"OwnedBy":                  func(ctx context.Context) error { return drop(s.OwnedBy(ctx, "x")) },
		"SweepDeletedApplications": func(ctx context.Context) error { return s.SweepDeletedApplications(ctx, 1) },
		"AuthorizedBy":             func(ctx context.Context) error { return drop(s.AuthorizedBy(ctx, "x", at)) },
		"Consent":                  func(ctx context.Context) error { return drop(s.Consent(ctx, "x", "x")) },
		"WasUsername":              func(ctx context.Context) error { return drop(s.WasUsername(ctx, "x")) },
		"HasUsers":                 func(ctx context.Context) error { return drop(s.HasUsers(ctx)) },
		"DeleteApplication":        func(ctx context.Context) error { return s.DeleteApplication(ctx, "x") },
		"MembersOf":                func(ctx context.Context) error { return drop(s.MembersOf(ctx, "x", at)) },
		"RenameGroup":              func(ctx context.Context) error { return s.RenameGroup(ctx, "x", "y", nil) },
		"EndMemberships":           func(ctx context.Context) error { return drop(s.EndMemberships(ctx, at, 1, Event{})) },
		"SetMembership":            func(ctx context.Context) error { return s.SetMembership(ctx, "x", "x", 0, at) },
		"SweepExcluded":            func(ctx context.Context) error { return drop(s.SweepExcluded(ctx, at, 1)) },
		"TemporaryMemberships": func(ctx context.Context) error {
			return drop(s.TemporaryMemberships(ctx, "x", "x", at))
		},
		"UsableBy":     func(ctx context.Context) error { return drop(s.UsableBy(ctx, "x", "", at, 1, 0)) },
		"UsersOf":      func(ctx context.Context) error { return drop(s.UsersOf(ctx, "x", "", at, 0, 1)) },
		"HasUsed":      func(ctx context.Context) error { return drop(s.HasUsed(ctx, "x", "x", at)) },
		"Administered": func(ctx context.Context) error { return drop(s.Administered(ctx, "x")) },
		"HolderOf":     func(ctx context.Context) error { return drop(s.HolderOf(ctx, "x", at)) },
		"Delegate":     func(ctx context.Context) error { return s.Delegate(ctx, Delegated{By: "x", Of: "x"}) },
		"MemberList": func(ctx context.Context) error {
			_, _, err := s.MemberList(ctx, "x", at, 1, 0)
			return err
		},
		"DeleteGroup": func(ctx context.Context) error { return s.DeleteGroup(ctx, "x") },
		"DeleteUser": func(ctx context.Context) error {
			return s.DeleteUser(ctx, "x", at, Handover{Responsible: ByOperator})
		},
		"DisableUser":    func(ctx context.Context) error { return s.DisableUser(ctx, "x", at) },
		"ClaimLogin":     func(ctx context.Context) error { return s.ClaimLogin(ctx, Login{}, at) },
		"DueLogins":      func(ctx context.Context) error { return drop(s.DueLogins(ctx, at, 1, 1)) },
		"EndOldSessions": func(ctx context.Context) error { return drop(s.EndOldSessions(ctx, at, at, 1)) },
		"PauseLogins":    func(ctx context.Context) error { return s.PauseLogins(ctx, "x", 1, at) },
		"ForgetLogins":   func(ctx context.Context) error { return drop(s.ForgetLogins(ctx, "x")) },
		"EndSessions":    func(ctx context.Context) error { return drop(s.EndSessions(ctx, "x", at)) },
		"ForgetLogin":    func(ctx context.Context) error { return s.ForgetLogin(ctx, Login{}) },
		"EndSession":     func(ctx context.Context) error { return s.EndSession(ctx, "x", "x", at, false) },
		"GrantByCode":    func(ctx context.Context) error { return drop(s.GrantByCode(ctx, "x", at)) },
		"Groups":         func(ctx context.Context) error { return drop(s.Groups(ctx, at)) },
		"GroupsOf":       func(ctx context.Context) error { return drop(s.GroupsOf(ctx, "x", at)) },
		"Resources":      func(ctx context.Context) error { _, err := s.Resources(ctx); return err },
		"AddResource":    func(ctx context.Context) error { return s.AddResource(ctx, Resource{Key: "x"}, 10) },
		"UpdateResource": func(ctx context.Context) error { return s.UpdateResource(ctx, Resource{Key: "x"}) },
		"DeleteResource": func(ctx context.Context) error { return s.DeleteResource(ctx, "x") },
		"AddInitialToken": func(ctx context.Context) error {
			return s.AddInitialToken(ctx, InitialToken{Digest: "x", ID: "x", ByOperator: true}, 10)
		},
		"RefreshTokenByDigest": func(ctx context.Context) error { return drop(s.RefreshTokenByDigest(ctx, "x", at)) },
		"InitialTokenByDigest": func(ctx context.Context) error { return drop(s.InitialTokenByDigest(ctx, "x")) },
		"InitialTokens":        func(ctx context.Context) error { return drop(s.InitialTokens(ctx)) },
		"DeleteInitialToken":   func(ctx context.Context) error { return s.DeleteInitialToken(ctx, "x") },
		"RegisterApplication":  func(ctx context.Context) error { return drop(s.RegisterApplication(ctx, a, 0, "", at)) },
		"ShareRegistration":    func(ctx context.Context) error { return drop(s.ShareRegistration(ctx, "x", at)) },
		"RegistrationByDigest": func(ctx context.Context) error { return drop(s.RegistrationByDigest(ctx, "x")) },
		"DeleteRegistration":   func(ctx context.Context) error { return s.DeleteRegistration(ctx, "x") },
		"NoteWithoutPKCE":      func(ctx context.Context) error { return s.NoteWithoutPKCE(ctx, map[string]int64{a.ID: at}) },
		"SessionByID":          func(ctx context.Context) error { return drop(s.SessionByID(ctx, "x")) },
		"NoteKeyUses": func(ctx context.Context) error {
			return s.NoteKeyUses(ctx, map[KeyUse]int64{{"x", "x"}: at})
		},
		"KeyUses":  func(ctx context.Context) error { return drop(s.KeyUses(ctx, "x")) },
		"NoteUses": func(ctx context.Context) error { return s.NoteUses(ctx, map[string]int64{"x": at}) },
		"EndUnusedApplications": func(ctx context.Context) error {
			return drop(s.EndUnusedApplications(ctx, at, at, 1, newEvent("deleted", User{})))
		},
		"Holding":       func(ctx context.Context) error { return drop(s.Holding(ctx, a, nil, at, 1, 1)) },
		"RevokeAllOf":   func(ctx context.Context) error { return s.RevokeAllOf(ctx, "x") },
		"KeepConsent":   func(ctx context.Context) error { return s.KeepConsent(ctx, Consent{UserID: "x"}, "x", replace) },
		"KeepRefresh":   func(ctx context.Context) error { return s.KeepRefresh(ctx, "x", "x", at, at, at, pair[0]) },
		"LongestSigned": func(ctx context.Context) error { return drop(s.LongestSigned(ctx)) },
		"RevokeSigned":  func(ctx context.Context) error { return s.RevokeSigned(ctx, Token{Digest: "signed"}, at) },
		"TokenOfApplication": func(ctx context.Context) error {
			return drop(s.TokenOfApplication(ctx, "x", "x", 0))
		},
		"TokenOfGrant": func(ctx context.Context) error { return drop(s.TokenOfGrant(ctx, "x", at)) },
		"Keys":         func(ctx context.Context) error { return drop(s.Keys(ctx, at)) },
		"Migrate":      func(ctx context.Context) error { return drop(s.Migrate(ctx)) },
		"Pending":      func(ctx context.Context) error { return drop(s.Pending(ctx)) },
		"Oldest":       func(ctx context.Context) error { return drop(s.Oldest(ctx)) },
		"Ping":         s.Ping,
		"AddDevice": func(ctx context.Context) error {
			return s.AddDevice(ctx, Device{Digest: "x", UserCode: "x", State: DevicePending, ExpiresAt: later}, 1, 1)
		},
		"ApproveDevice":    func(ctx context.Context) error { return s.ApproveDevice(ctx, g, "") },
		"DenyDevice":       func(ctx context.Context) error { return s.DenyDevice(ctx, "x", at) },
		"DeviceByCode":     func(ctx context.Context) error { return drop(s.DeviceByCode(ctx, "x")) },
		"DeviceByUserCode": func(ctx context.Context) error { return drop(s.DeviceByUserCode(ctx, "x", at)) },
		"PollDevice":       func(ctx context.Context) error { return drop(s.PollDevice(ctx, "x", "x", at)) },
		"RedeemCode":       func(ctx context.Context) error { return s.RedeemCode(ctx, "x", at, at, pair) },
		"Rehash":           func(ctx context.Context) error { return s.Rehash(ctx, "x", "x", "y") },
		"RetireKey":        func(ctx context.Context) error { return s.RetireKey(ctx, "x", at) },
		"RevokeConsent":    func(ctx context.Context) error { return s.RevokeConsent(ctx, "x", "x") },
		"RevokeGrant":      func(ctx context.Context) error { return s.RevokeGrant(ctx, "x") },
		"RevokeToken":      func(ctx context.Context) error { return s.RevokeToken(ctx, "x") },
		"RotateRefresh":    func(ctx context.Context) error { return s.RotateRefresh(ctx, "x", "x", "", at, at, pair) },
		"RotateSecret":     func(ctx context.Context) error { return s.RotateSecret(ctx, "x", "x", "y", at, at) },
		"AddTokenOnce": func(ctx context.Context) error {
			return s.AddTokenOnce(ctx, Token{Digest: rand.Text(), ApplicationID: new("x"), ExpiresAt: later},
				OneTime{rand.Text(), later, at})
		},
		"SeeOnce":           func(ctx context.Context) error { return s.SeeOnce(ctx, OneTime{rand.Text(), later, at}) },
		"SessionByDigest":   func(ctx context.Context) error { return drop(s.SessionByDigest(ctx, "x", at, 0)) },
		"SessionsOf":        func(ctx context.Context) error { return drop(s.SessionsOf(ctx, "x", at, 0)) },
		"ChangePassword":    func(ctx context.Context) error { return s.ChangePassword(ctx, "x", "y", at, Renewal{}, false) },
		"Factors":           func(ctx context.Context) error { return drop(s.Factors(ctx, "x")) },
		"FactorDue":         func(ctx context.Context) error { return drop(s.FactorDue(ctx, "x", at)) },
		"TOTP":              func(ctx context.Context) error { return drop(s.TOTP(ctx, "x")) },
		"RemoveTOTP":        func(ctx context.Context) error { return s.RemoveTOTP(ctx, Renewal{}, Ways{Passkeys: true}) },
		"ResetFactors":      func(ctx context.Context) error { return s.ResetFactors(ctx, "x", at) },
		"StrengthenSession": func(ctx context.Context) error { return s.StrengthenSession(ctx, Renewal{}) },
		"ReplaceRecoveryCodes": func(ctx context.Context) error {
			return s.ReplaceRecoveryCodes(ctx, Renewal{}, []string{"x"}, at, Ways{Passkeys: true})
		},
		"AddMail":       func(ctx context.Context) error { return s.AddMail(ctx, newMail(User{ID: "x"})) },
		"DueMails":      func(ctx context.Context) error { return drop(s.DueMails(ctx, "", at, 1)) },
		"LeaseMail":     func(ctx context.Context) error { return drop(s.LeaseMail(ctx, Mail{}, at)) },
		"PostponeMail":  func(ctx context.Context) error { return s.PostponeMail(ctx, Mail{}, at) },
		"GiveUpMail":    func(ctx context.Context) error { return s.GiveUpMail(ctx, Mail{ID: "x"}) },
		"ForgetMail":    func(ctx context.Context) error { return s.ForgetMail(ctx, Mail{ID: "x"}) },
		"AnswerMail":    func(ctx context.Context) error { return s.AnswerMail(ctx, Mail{}, nil) },
		"AddLink":       func(ctx context.Context) error { return s.AddLink(ctx, newLink(User{ID: "x"}, LinkReset)) },
		"LinkByDigest":  func(ctx context.Context) error { return drop(s.LinkByDigest(ctx, "x", LinkReset, at)) },
		"ResetByLink":   func(ctx context.Context) error { return s.ResetByLink(ctx, "x", "y", at) },
		"ConfirmByLink": func(ctx context.Context) error { return s.ConfirmByLink(ctx, "x", Renewal{}, at, nil) },
		"UsersByEmail":  func(ctx context.Context) error { return drop(s.UsersByEmail(ctx, "x", 1)) },
		"SetPassword":   func(ctx context.Context) error { return s.SetPassword(ctx, "x", "x", at) },
		"KeepRequest":   func(ctx context.Context) error { return s.KeepRequest(ctx, "x", later) },
		"AddEvents":     func(ctx context.Context) error { return s.AddEvents(ctx, newEvent("x", u)) },
		"CountEvent":    func(ctx context.Context) error { return s.CountEvent(ctx, newEvent("x", u), newEvent("x", u), 1) },
		"CountRefusals": func(ctx context.Context) error {
			return s.CountRefusals(ctx, []CountedRefusal{{newEvent("x", u), "r", "re", "other"}}, 1)
		},
		"EventsFrom":        func(ctx context.Context) error { return drop(s.EventsFrom(ctx, "r", "r", 1)) },
		"Events":            func(ctx context.Context) error { return drop(s.Events(ctx, EventFilter{}, 1)) },
		"SweepEvents":       func(ctx context.Context) error { return drop(s.SweepEvents(ctx, at, 1)) },
		"Setting":           func(ctx context.Context) error { return drop(s.Setting(ctx, "x")) },
		"Sweep":             func(ctx context.Context) error { return drop(s.Sweep(ctx, at, 1)) },
		"TokenByDigest":     func(ctx context.Context) error { return drop(s.TokenByDigest(ctx, "x", at)) },
		"TouchSession":      func(ctx context.Context) error { return s.TouchSession(ctx, "x", at, 60) },
		"UpdateApplication": func(ctx context.Context) error { return s.UpdateApplication(ctx, a, a) },
		"UpdateUser":        func(ctx context.Context) error { return s.UpdateUser(ctx, u, nil, nil, Beside{}) },
		"UserByID":          func(ctx context.Context) error { return drop(s.UserByID(ctx, "x")) },
		"UserByKey":         func(ctx context.Context) error { return drop(s.UserByKey(ctx, "x")) },
		"UserByNumber":      func(ctx context.Context) error { return drop(s.UserByNumber(ctx, 1)) },
		"Users": func(ctx context.Context) error {
			_, _, err := s.Users(ctx, "", 1, 0)
			return err
		},
	}
}

func TestListOfCallsNamesEveryMethod(t *testing.T) {
	var s *Store
	known := calls(s)
	methods := reflect.TypeOf(s) // an embedded store needs no database for the clock, the turn, and the wait for a standby
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if known[name] == nil &&
			!slices.Contains([]string{"Clock", "EndTurn", "TakeTurn", "Settle", "ConfirmRotation", "Close", "Embedded", "Listen",
				"OnChange", "OnEvents", "Reclaim", "Stats", "Trace"}, name) {
			t.Errorf("calls lacks %s", name)
		}
	}
}

// notASentinel checks that a failure of the database is not reported as the state of a
// record.
func notASentinel(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
	}
	for _, sentinel := range []error{ErrNotFound, ErrConflict, ErrSpent, ErrFactorUsed, ErrLastAdministrator, ErrLastWay,
		ErrNewerSchema} {
		if errors.Is(err, sentinel) {
			t.Errorf("%s: the failure is reported as %v", what, err)
		}
	}
}

func TestDatabaseThatFailsSaysNothingAboutTheRecord(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		each(t, func(t *testing.T, w world) {
			for _, warm := range []bool{false, true} { // already prepared statements fail at another place
				s := opened(t, w.url)
				for _, call := range calls(s) {
					if warm {
						_ = call(t.Context())
					}
				}
				s.Close()
				for name, call := range calls(s) {
					notASentinel(t, name, call(t.Context()))
				}
			}
		})
	})
	t.Run("without a schema", func(t *testing.T) {
		eachEmpty(t, func(t *testing.T, url string) {
			s := opened(t, url)
			for name, call := range calls(s) {
				if !slices.Contains([]string{"Migrate", "Pending", "Ping"}, name) {
					notASentinel(t, name, call(t.Context()))
				}
			}
		})
	})
}

func TestCallWhoseContextHasEndedDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		before := counts(t, w.Store)
		for range 2 {
			for name, call := range calls(w.Store) {
				is(t, name, call(ended), context.Canceled)
			}
			for name, call := range calls(opened(t, w.url)) {
				is(t, name+" on a new Store", call(ended), context.Canceled)
			}
		}
		if after := counts(t, w.Store); !reflect.DeepEqual(before, after) {
			t.Errorf("before %v, after %v", before, after)
		}
		w.person(t, "alice")
	})
}

func TestStoreRecoversWhenPostgreSQLIsBack(t *testing.T) {
	server := postgrestest.New(t)
	w := migrated(t, server.URL(t))
	alice, a, _ := w.scene(t, "alice")
	for name, stop := range map[string]func(testing.TB){"stopped": server.Stop, "crashed": server.Crash} {
		f := w.family(t, alice.ID, a.ID)
		for _, err := range race(64, func(int) error { // opens all connections of the pool
			_, err := w.TokenByDigest(t.Context(), f.access, at)
			return err
		}) {
			must(t, err)
		}
		for _, call := range calls(w.Store) {
			_ = call(t.Context()) // prepares its statements
		}
		stop(t)
		for range 2 {
			for method, call := range calls(w.Store) {
				notASentinel(t, name+": "+method, call(t.Context()))
			}
		}
		server.Start(t)
		for _, err := range race(64, func(i int) error {
			if i%2 == 0 {
				return w.AddToken(t.Context(), newPair(f.ID)[0])
			}
			_, err := w.TokenByDigest(t.Context(), f.access, at)
			return err
		}) {
			is(t, name+": back again", err, nil)
		}
		is(t, name+": a transaction", w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, newPair(f.ID)), nil)
	}
}

func TestStoreSurvivesARestartThatNobodyNoticed(t *testing.T) {
	server := postgrestest.New(t)
	w := migrated(t, server.URL(t))
	alice, a, f := w.scene(t, "alice")
	for _, restart := range []func(testing.TB){server.Stop, server.Crash} {
		for _, err := range race(64, func(int) error { // leaves idle connections
			_, err := w.TokenByDigest(t.Context(), f.access, at)
			return err
		}) {
			must(t, err)
		}
		restart(t)
		server.Start(t)
		for _, err := range race(64, func(i int) error {
			switch i % 3 {
			case 0:
				return w.AddToken(t.Context(), newPair(f.ID)[0])
			case 1:
				g := newGrant(alice.ID, a.ID)
				return w.AddGrantWithTokens(t.Context(), g, newPair(g.ID), alice.Password)
			}
			_, err := w.TokenByDigest(t.Context(), f.access, at)
			return err
		}) {
			is(t, "the first calls after it", err, nil)
		}
	}
}

func TestTextThatTheDatabaseCannotHoldIsInNoRecord(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.scene(t, "alice")
		for _, text := range []string{"a\x00b", "\xff\xfe", "\xc3"} {
			_, err := w.ApplicationByClientID(t.Context(), text)
			is(t, "ApplicationByClientID", err, ErrNotFound)
			_, err = w.UserByKey(t.Context(), text)
			is(t, "UserByKey", err, ErrNotFound)
			_, err = w.TokenByDigest(t.Context(), text, at)
			is(t, "TokenByDigest", err, ErrNotFound)
		}
	})
}
