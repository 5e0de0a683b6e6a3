package passkey

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"mandate/provider/passkey/passkeytest"
)

const origin = "https://id.example.com:8443"

func party(t testing.TB, at string) *Party {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(u, "Mandate")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUsable(t *testing.T) {
	for at, want := range map[string]bool{
		"https://id.example.com": true, "https://id.example.com:8443": true, "http://localhost:8000": true,
		"http://demo.localhost": true, "https://localhost": true,
		"http://id.example.com": false, "http://127.0.0.1:8000": false, "https://192.0.2.1": false,
		"https://[2001:db8::1]": false, "http://[::1]:8000": false, "http://notlocalhost": false, "": false,
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := Usable(u); got != want {
			t.Errorf("%q: %v", at, got)
		}
		if want {
			party(t, at)
		}
	}
}

// enrolled is a person with a passkey.
type enrolled struct {
	*Party
	*passkeytest.Authenticator
	person Person
}

func enroll(t testing.TB, changes ...func(*passkeytest.Authenticator)) enrolled {
	t.Helper()
	e := enrolled{party(t, origin), &passkeytest.Authenticator{Origin: origin, Counter: 5},
		Person{Handle: []byte("handle of alice"), Name: "alice"}}
	for _, change := range changes {
		change(e.Authenticator)
	}
	asked, err := e.Party.Create(e.person)
	if err != nil {
		t.Fatal(err)
	}
	made, err := e.Created(e.person, asked.Challenge, []byte(e.Create(asked.JSON)))
	if err != nil {
		t.Fatal(err)
	}
	e.person.Passkeys = []Credential{made}
	e.Counter++
	return e
}

// Create of enrolled is that of its authenticator.
func (e enrolled) Create(options string) string { return e.Authenticator.Create(options) }

// signIn lets an authenticator answer a new request.
func (e enrolled) signIn(t testing.TB, by *passkeytest.Authenticator) (Use, error) {
	t.Helper()
	asked, err := e.SignIn()
	if err != nil {
		t.Fatal(err)
	}
	return e.check(asked.Challenge, by.Get(asked.JSON))
}

func (e enrolled) check(challenge, response string) (Use, error) {
	a, err := ReadAssertion([]byte(response))
	if err != nil {
		return Use{}, err
	}
	return e.Check(a, challenge, e.person)
}

func TestRequests(t *testing.T) {
	e := enroll(t)
	asked, err := e.Party.Create(e.person)
	if err != nil {
		t.Fatal(err)
	}
	var creation struct {
		RP         struct{ ID, Name string }
		User       struct{ ID, Name string }
		Challenge  string
		Parameters []struct {
			Alg  int
			Type string
		} `json:"pubKeyCredParams"`
		Exclude   []struct{ ID string } `json:"excludeCredentials"`
		Selection struct {
			ResidentKey, UserVerification string
			RequireResidentKey            bool
		} `json:"authenticatorSelection"`
		Attestation string
	}
	err = json.Unmarshal([]byte(asked.JSON), &creation)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(creation.Challenge)
	if err != nil || len(raw) < 16 || creation.Challenge != asked.Challenge {
		t.Errorf("the challenge is %q, %v", creation.Challenge, err)
	}
	s := creation.Selection
	if creation.RP.ID != "id.example.com" || creation.User.ID != base64.RawURLEncoding.EncodeToString(e.person.Handle) ||
		creation.Attestation != "none" && creation.Attestation != "" ||
		s.ResidentKey != "required" || !s.RequireResidentKey || s.UserVerification != "required" ||
		len(creation.Exclude) != 1 || creation.Exclude[0].ID != e.person.Passkeys[0].ID || len(creation.Parameters) != 3 {
		t.Errorf("the request is %s", asked.JSON)
	}
	signIn, err := e.SignIn()
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		RPID, Challenge, UserVerification string
		AllowCredentials                  []any
	}
	err = json.Unmarshal([]byte(signIn.JSON), &request)
	if err != nil {
		t.Fatal(err)
	}
	if request.RPID != "id.example.com" || request.UserVerification != "required" || len(request.AllowCredentials) != 0 ||
		request.Challenge != signIn.Challenge || signIn.Challenge == asked.Challenge {
		t.Errorf("the request is %s", signIn.JSON)
	}
}

// A rule is broken by one field of the authenticator.
var broken = map[string]func(*passkeytest.Authenticator){
	"another origin":                       func(a *passkeytest.Authenticator) { a.Origin = "https://evil.example.com" },
	"the origin of the host, another port": func(a *passkeytest.Authenticator) { a.Origin = "https://id.example.com" },
	"the origin of the host, without TLS": func(a *passkeytest.Authenticator) {
		a.Origin = "http://id.example.com:8443"
	},
	"a host below this one": func(a *passkeytest.Authenticator) {
		a.Origin = "https://x.id.example.com:8443"
	},
	"a passkey of another host":             func(a *passkeytest.Authenticator) { a.Host = "other.example.com" },
	"a passkey of the host above":           func(a *passkeytest.Authenticator) { a.Host = "example.com" },
	"another challenge":                     func(a *passkeytest.Authenticator) { a.Challenge = strings.Repeat("A", 43) },
	"no challenge":                          func(a *passkeytest.Authenticator) { a.Challenge = " " },
	"a page in a frame of another site":     func(a *passkeytest.Authenticator) { a.Framed = true },
	"a person who was not verified":         func(a *passkeytest.Authenticator) { a.Unverified = true },
	"nobody was there":                      func(a *passkeytest.Authenticator) { a.Absent = true },
	"backed up, but it cannot be backed up": func(a *passkeytest.Authenticator) { a.BackedUp = true },
}

func TestCreated(t *testing.T) {
	person := Person{Handle: []byte("handle of alice"), Name: "alice"}
	p := party(t, origin)
	create := func(t *testing.T, change func(*passkeytest.Authenticator)) (Credential, error) {
		t.Helper()
		asked, err := p.Create(person)
		if err != nil {
			t.Fatal(err)
		}
		a := &passkeytest.Authenticator{Origin: origin, Counter: 3}
		change(a)
		return p.Created(person, asked.Challenge, []byte(a.Create(asked.JSON)))
	}
	t.Run("a passkey is made", func(t *testing.T) {
		got, err := create(t, func(a *passkeytest.Authenticator) { a.KeptBackup, a.BackedUp = true, true })
		if err != nil {
			t.Fatal(err)
		}
		if got.SignCount != 3 || !got.BackupEligible || !got.BackedUp ||
			strings.Join(got.Transports, " ") != "internal hybrid" || got.PublicKey == "" ||
			got.AAGUID != "AAAAAAAAAAAAAAAAAAAAAA" {
			t.Errorf("got %+v", got)
		}
	})
	refusals := map[string]func(*passkeytest.Authenticator){
		"the response of a sign-in":        func(a *passkeytest.Authenticator) { a.Kind = "webauthn.get" },
		"an algorithm that is not offered": func(a *passkeytest.Authenticator) { a.P384 = true },
		"an unknown attestation":           func(a *passkeytest.Authenticator) { a.OtherFormat = "made-up" },
		"a short ID":                       func(a *passkeytest.Authenticator) { a.ID = []byte("new") },
		"a long ID":                        func(a *passkeytest.Authenticator) { a.ID = make([]byte, 1024) },
	}
	for rule, change := range broken {
		refusals[rule] = change
	}
	for rule, change := range refusals {
		t.Run(rule, func(t *testing.T) {
			got, err := create(t, change)
			if !errors.Is(err, ErrRefused) {
				t.Errorf("made %+v, %v", got, err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Run("a sign-in", func(t *testing.T) {
		e := enroll(t, func(a *passkeytest.Authenticator) { a.KeptBackup = true })
		e.BackedUp = true
		got, err := e.signIn(t, e.Authenticator)
		if err != nil || got != (Use{6, true}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	refusals := map[string]func(*passkeytest.Authenticator){
		"the response of a creation": func(a *passkeytest.Authenticator) { a.Kind = "webauthn.create" },
		"another signature":          func(a *passkeytest.Authenticator) { a.BadSignature = true },
		"another person": func(a *passkeytest.Authenticator) {
			a.Handle = []byte("handle of bob")
		},
		"no person":                            func(a *passkeytest.Authenticator) { a.Handle = []byte{} },
		"another passkey of the authenticator": func(a *passkeytest.Authenticator) { a.ID = make([]byte, 32) },
		"backed up from now on, though it could not be": func(a *passkeytest.Authenticator) {
			a.KeptBackup, a.BackedUp = true, true
		},
	}
	for rule, change := range broken {
		refusals[rule] = change
	}
	for rule, change := range refusals {
		t.Run(rule, func(t *testing.T) {
			e := enroll(t)
			change(e.Authenticator)
			got, err := e.signIn(t, e.Authenticator)
			if !errors.Is(err, ErrRefused) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("a key of somebody else under the same ID", func(t *testing.T) {
		e, other := enroll(t), enroll(t)
		other.ID = e.ID
		_, err := e.signIn(t, other.Authenticator)
		if !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	})
	t.Run("a response to an earlier request", func(t *testing.T) {
		e := enroll(t)
		asked, err := e.SignIn()
		if err != nil {
			t.Fatal(err)
		}
		response := e.Get(asked.JSON)
		_, err = e.check(asked.Challenge, response)
		if err != nil {
			t.Fatal(err)
		}
		next, err := e.SignIn()
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.check(next.Challenge, response)
		if !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	})
	for rule, c := range map[string]struct {
		stored, sent uint32
		want         error
	}{
		"a counter that grows":       {5, 6, nil},
		"no counter":                 {0, 0, nil},
		"a counter from now on":      {0, 1, nil},
		"a counter that stays":       {5, 5, ErrCounter},
		"a counter that goes back":   {5, 4, ErrCounter},
		"a counter that is gone":     {5, 0, ErrCounter},
		"the highest":                {1<<32 - 2, 1<<32 - 1, nil},
		"a counter that begins anew": {1<<32 - 1, 0, ErrCounter},
	} {
		t.Run(rule, func(t *testing.T) {
			e := enroll(t)
			e.person.Passkeys[0].SignCount, e.Counter = c.stored, c.sent
			got, err := e.signIn(t, e.Authenticator)
			if !errors.Is(err, c.want) || err == nil && got.SignCount != c.sent {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// Whatever a browser sends is accepted or refused, and never ends the process.
func FuzzResponses(f *testing.F) {
	e := enroll(f)
	asked, err := e.Party.Create(e.person)
	if err != nil {
		f.Fatal(err)
	}
	signIn, err := e.SignIn()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(e.Create(asked.JSON))
	f.Add(e.Get(signIn.JSON))
	f.Add(
		`{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA","authenticatorData":""}}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, response string) {
		_, err := e.Created(e.person, rand.Text(), []byte(response))
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", response, err)
		}
		_, err = e.check(rand.Text(), response)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", response, err)
		}
	})
}
