package provider

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

func TestNames(t *testing.T) {
	f := begin(t)
	for _, test := range []struct {
		rule, name         string
		asUsername, asText bool
	}{
		{"letters", "Alice", true, true},
		{"letters of another script", "Ελένη", true, true},
		{"an accent", "Ame\u0301lie", true, true},
		{"a space", "Al Ice", false, true},
		{"an emoji", "\U0001F511", false, true},
		{"a joiner between letters", "न\u094d\u200dस", false, true},
		{"only a joiner", "\u200d", false, false},
		{"only an accent", "\u0301", false, false},
		{"only no-break spaces", "\u00a0\u2003", false, false},
		{"only a braille cell without dots", "\u2800", false, false},
		{"a zero width space", "Al\u200bice", false, false},
		{"a word joiner", "Al\u2060ice", false, false},
		{"a byte order mark", "\ufeffAlice", false, false},
		{"a soft hyphen", "Al\u00adice", false, false},
		{"a Hangul filler", "Alice\u3164", false, false},
		{"a halfwidth Hangul filler", "Alice\uffa0", false, false},
		{"a choseong filler", "Alice\u115f", false, false},
		{"a combining grapheme joiner", "Al\u034fice", false, false},
		{"a variation selector", "Alice\ufe0f", false, false},
		{"a supplementary variation selector", "Alice\U000E0100", false, false},
		{"a Mongolian vowel separator", "Al\u180eice", false, false},
		{"a tag", "Alice\U000E0041", false, false},
		{"a tag that is not assigned", "Alice\U000E0002", false, false},
		{"a right-to-left override", "\u202eecilA", false, false},
		{"a right-to-left mark", "Alice\u200f", false, false},
		{"a line separator", "Al\u2028ice", false, false},
		{"a paragraph separator", "Al\u2029ice", false, false},
		{"an interlinear annotation", "Al\ufff9ice", false, false},
		{"a control character", "Al\x7fice", false, false},
		{"a line feed", "Al\nice", false, false},
		{"not UTF-8", "Alice\xff", false, false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for field, got := range map[string]struct {
				good bool
				err  error
			}{
				"username": {test.asUsername, second(f.People.AddUser(t.Context(), policy.Operator(), people.Person{
					Username: test.name,
					Password: goodPassword,
				}))},
				"first_name": {test.asText, second(f.People.AddUser(t.Context(), policy.Operator(), people.Person{
					Username:  "a" + seal.Identifier(),
					Password:  goodPassword,
					FirstName: test.name,
				}))},
				"last_name": {test.asText, second(f.People.AddUser(t.Context(), policy.Operator(), people.Person{
					Username: "a" + seal.Identifier(),
					Password: goodPassword,
					LastName: test.name,
				}))},
				"name": {test.asText, second(f.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
					Name:       test.name,
					ClientType: policy.Confidential,
					GrantTypes: []string{policy.GrantClient},
				}))},
			} {
				if got.good {
					wantError(t, got.err, "no error")
				} else {
					wantInvalid(t, got.err, field)
				}
			}
			if !test.asText {
				wantInvalid(t, f.People.AddGroup(t.Context(), test.name), "name")
			}
		})
	}
}

// An address with a character that cannot be seen looks like another address.
func TestAddressesHaveNoHiddenCharacters(t *testing.T) {
	f := begin(t)
	for hidden, good := range map[string]bool{
		"":           true,
		"\u200b":     false,
		"\u200c":     false,
		"\u200d":     false,
		"\u202e":     false,
		"\u2066":     false,
		"\u00ad":     false,
		"\u2028":     false,
		"\ufe0f":     false,
		"\u009b":     false,
		"\U000E0041": false,
	} {
		for field, change := range map[string]func(*people.Person){
			"email": func(p *people.Person) { p.Email = "al" + hidden + "ice@example.org" },
			"profile": func(p *people.Person) {
				p.Profile = &people.Profile{Profile: "https://example.org/al" + hidden + "ice"}
			},
			"picture": func(p *people.Person) { p.Profile = &people.Profile{Picture: "https://ex" + hidden + "ample.org/"} },
			"website": func(p *people.Person) { p.Profile = &people.Profile{Website: "https://example.org/?" + hidden} },
		} {
			person := people.Person{Username: "a" + seal.Identifier(), Password: goodPassword}
			change(&person)
			_, err := f.People.AddUser(t.Context(), policy.Operator(), person)
			t.Run(fmt.Sprintf("%s with %+q", field, hidden), func(t *testing.T) {
				if good {
					wantError(t, err, "no error")
				} else {
					wantInvalid(t, err, field)
				}
			})
		}
	}
}

// RFC 5321 §4.1.3: mail for an address literal goes to that machine, which may be one inside.
func TestAddressesNameADomain(t *testing.T) {
	f := begin(t)
	for address, good := range map[string]bool{
		"alice@example.org":         true,
		"alice@[192.0.2.1]":         false,
		"alice@[IPv6:2001:db8::1]":  false,
		"alice@[localhost]":         false,
		"Alice <alice@example.org>": false,
		"alice":                     false,
		"alice@":                    false,
	} {
		_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: "a" + seal.Identifier(),
			Password: goodPassword,
			Email:    address,
		})
		if good {
			wantError(t, err, "no error")
		} else {
			wantInvalid(t, err, "email")
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[S, T any](_ S, _ T, err error) error { return err }

// A password hash is expensive, so a name that is already in use is refused before the hash.
func TestNameThatIsTakenIsRefusedBeforeItsPasswordIsHashed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
		f.person("alice")
		take(t, f.limits.Programs)
		take(t, f.limits.People)
		start := time.Now()
		wantInvalid(t, second(f.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: "ALICE",
			Password: goodPassword,
		})), "username")
		if waited := time.Since(start); waited != 0 {
			t.Error("waited", waited)
		}
	})
}

// A program with a token, and an administrator whose sign-in is too long ago, add nobody with rights.
func TestAddingSomebodyWithRights(t *testing.T) {
	f := begin(t)
	root, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username:      "root",
		Password:      goodPassword,
		Administrator: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for who, actor := range map[string]policy.Actor{"a-program": {}, "root": policy.By(root)} {
		for what, change := range map[string]func(*people.Person){
			"an administrator": func(p *people.Person) { p.Administrator = true },
			"a verified address": func(p *people.Person) {
				p.Email, p.Profile = "a@example.org", &people.Profile{EmailVerified: true}
			},
			"a verified number": func(p *people.Person) {
				p.Profile = &people.Profile{PhoneNumber: "+441632960961", PhoneNumberVerified: true}
			},
		} {
			person := people.Person{Username: who + "-1", Password: goodPassword}
			change(&person)
			isError(t, who+" adds "+what, second(f.People.AddUser(t.Context(), actor, person)), people.ErrConfirm)
		}
		wantError(t, second(f.People.AddUser(t.Context(), actor, people.Person{
			Username: who + "-1",
			Password: goodPassword,
		})), "no error")
	}
}

func TestLastAdministrator(t *testing.T) {
	f := begin(t)
	root, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username:      "root",
		Password:      goodPassword,
		Administrator: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]error{
		"disabled": f.People.DisableUser(t.Context(), "root"),
		"deleted":  f.People.DeleteUser(t.Context(), policy.Operator(), root.ID, ""),
		"demoted":  f.People.UpdateUser(t.Context(), policy.Operator(), root.ID, people.Person{Username: "root"}),
		"made inactive": f.People.UpdateUser(t.Context(), policy.Operator(), root.ID, people.Person{
			Username:      "root",
			Administrator: true,
			Inactive:      true,
		}),
	}
	for name, err := range last {
		t.Run(name, func(t *testing.T) { wantInvalid(t, err, "administrator") })
	}
	_, err = f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username:      "second",
		Password:      goodPassword,
		Administrator: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, f.People.DeleteUser(t.Context(), policy.Operator(), root.ID, ""), "no error")
}

// OIDC Core §2, §5.7: a new person with the name of a deleted person gets another subject.
func TestSubjectIsNeverGivenAgain(t *testing.T) {
	f := begin(t)
	seen := map[string]bool{}
	for range 5 {
		alice := f.person("alice")
		if seen[alice.ID] || seen[f.Tokens.Subject("a.example", alice.ID)] {
			t.Errorf("the subject %s was given again", alice.ID)
		}
		seen[alice.ID], seen[f.Tokens.Subject("a.example", alice.ID)] = true, true
		err := f.People.DeleteUser(t.Context(), policy.Operator(), alice.ID, "")
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A form of a person with several fields is stored as a whole, or not at all: the person must not have the new name
// with the old password, or the other way round.
func TestUserChangesAsAWhole(t *testing.T) {
	form := people.Person{
		Username:      "admin",
		Email:         "admin@example.com",
		Password:      "quite another few words",
		Administrator: true,
	}
	for what, fails := range map[string]func(t *testing.T, f *fixture) (context.Context, func()){
		"the hashes are busy": func(t *testing.T, f *fixture) (context.Context, func()) {
			n := f.limits.People.Stats().Slots
			for range n {
				if err := f.limits.People.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			return ctx, func() {
				cancel()
				for range n {
					f.limits.People.Release()
				}
			}
		},
		"the messages cannot be stored": func(t *testing.T, f *fixture) (context.Context, func()) {
			f.sql(`ALTER TABLE mail_counts RENAME TO gone`)
			return t.Context(), func() { f.sql(`ALTER TABLE gone RENAME TO mail_counts`) }
		},
		// After the columns of the person.
		"the password cannot be stored": func(t *testing.T, f *fixture) (context.Context, func()) {
			f.sql(`CREATE TRIGGER fails BEFORE UPDATE OF password ON users BEGIN SELECT RAISE(ABORT, 'failed'); END`)
			return t.Context(), func() { f.sql(`DROP TRIGGER fails`) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := begin(t, mailsTo(nowhere))
			root, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "root",
				Email: "root@example.com", Password: goodPassword, Administrator: true})
			if err != nil {
				t.Fatal(err)
			}
			s := f.login("root")
			f.told()
			recorded := f.count("events")
			for name, change := range map[string]func(context.Context) error{
				"their own account": func(ctx context.Context) error { return second(f.People.UpdateOwn(ctx, s, form)) },
				"by somebody else": func(ctx context.Context) error {
					return f.People.UpdateUser(ctx, policy.Operator(), root.ID, form)
				},
			} {
				ctx, end := fails(t, f)
				err := change(ctx)
				end()
				if err == nil {
					t.Fatalf("%s: it does not fail", name)
				}
				u, err := f.People.User(t.Context(), root.ID)
				renewed := u.Password != s.User.Password
				if err != nil || u.Username != "root" || u.Email != "root@example.com" || renewed {
					t.Errorf("%s: half of it is stored: %s %s, another password: %t, %v", name, u.Username, u.Email, renewed, err)
				}
				if _, err := f.store.SessionByDigest(t.Context(), s.Session.Digest, oauth.Now(), 0); err != nil {
					t.Errorf("%s: the session: %v", name, err)
				}
				if told := f.told(); len(told) > 0 || f.count("events") != recorded {
					t.Errorf("%s: messages %q, %d events more", name, told, f.count("events")-recorded)
				}
			}
			in, err := f.People.UpdateOwn(t.Context(), s, form)
			if err != nil || in != nil {
				t.Fatal("without the failure:", in, err)
			}
			in, err = f.People.Login(t.Context(), "admin", form.Password, home)
			if err != nil || in.Session == "" {
				t.Error("the sign-in after the change:", err)
			}
		})
	}
}
