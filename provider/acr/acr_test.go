package acr

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogin(t *testing.T) {
	for _, test := range []struct{ rule, login, acr, amr string }{
		{"a password", "pwd", Password, "pwd"},
		{"a login of an earlier release", "", Password, ""},
		{"a password and a one-time code", Add(PWD, OTP), MFA, "pwd otp mfa"},
		{"the order of the steps makes no difference", Add(OTP, PWD), MFA, "otp pwd mfa"},
		{"a code alone is one factor", OTP, Password, "otp"},
		{"a password and a security key", Add(PWD, POP, User), PhishingResistant, "pwd pop user mfa"},
		{"all three", Add(PWD, OTP, POP, User), PhishingResistant, "pwd otp pop user mfa"},
		{"a passkey alone", Add("", POP, User, Verified), Passkey, "pop user mfa"},
		{"a passkey as the second step", Add(PWD, POP, User, Verified), Passkey, "pwd pop user mfa"},
		{"a key that did not verify the person, alone, is one factor", Add("", POP, User), Password, "pop user"},
		{"verification without a key is nothing", Add(PWD, Verified), Password, "pwd"},
		{"a login at another server", At(Password), Password, ""},
		{"one to which the operator assigns two factors", At(MFA), MFA, "mfa"},
		{"one to which the operator assigns a passkey", At(Passkey), Passkey, "mfa"},
		{"one with a value that nobody knows", At("2"), Password, ""},
		{"one, and a one-time code here", Add(At(Password), OTP), MFA, "otp mfa"},
		{"one, and a passkey here", Add(At(MFA), POP, User, Verified), Passkey, "pop user mfa"},
		{"a weak code does not weaken it", Add(At(Passkey), OTP), Passkey, "otp mfa"},
		{"one, and a security key here", Add(At(Password), POP, User), PhishingResistant, "pop user mfa"},
		{"a method is named once", Add(Add(PWD, OTP), OTP, PWD), MFA, "pwd otp mfa"},
		{"RFC8176/2 mfa follows from the others alone", Add(PWD, "mfa"), Password, "pwd"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := Of(test.login); got != test.acr {
				t.Errorf("acr %s, want %s", got, test.acr)
			}
			if diff := cmp.Diff(test.amr, strings.Join(Methods(test.login), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSatisfies(t *testing.T) {
	logins := []string{PWD, Add(PWD, OTP), Add(PWD, POP, User), Add("", POP, User, Verified)}
	for i, login := range logins {
		for j, value := range Values() {
			if got := Satisfies(login, value); got != (j <= i) {
				t.Errorf("%q satisfies %s: %t", login, value, got)
			}
		}
		for _, unknown := range []string{"", "1", "urn:mandate:acr:passwor", "URN:MANDATE:ACR:PASSWORD", "pwd"} {
			if Satisfies(login, unknown) {
				t.Errorf("%q satisfies the unknown value %q", login, unknown)
			}
		}
	}
}

func TestClaim(t *testing.T) {
	for _, test := range []struct {
		rule, login string
		values      []string
		met, claim  string
	}{
		{"no value is requested", Add(PWD, OTP), nil, "", MFA},
		{"the first one that is satisfied", Add(PWD, OTP), []string{Passkey, Password, MFA}, Password, Password},
		{"a weaker value than the login", Add("", POP, User, Verified), []string{MFA}, MFA, MFA},
		{"none is satisfied", PWD, []string{MFA, PhishingResistant}, "", Password},
		{"unknown ones are skipped", PWD, []string{"1", "2", Password}, Password, Password},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := Met(test.login, test.values); got != test.met {
				t.Errorf("met %q, want %q", got, test.met)
			}
			if got := Claim(test.login, test.values); got != test.claim {
				t.Errorf("claim %q, want %q", got, test.claim)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	if got := Weakest([]string{Passkey, "x", MFA, PhishingResistant}); got != MFA {
		t.Error("weakest:", got)
	}
	if got := Weakest([]string{"x", ""}); got != "" {
		t.Error("weakest of unknown values:", got)
	}
	for _, pair := range [][3]string{{MFA, Password, MFA}, {Password, MFA, MFA}, {Passkey, PhishingResistant, Passkey},
		{"", Password, Password}, {MFA, "x", MFA}, {"", "", ""}} {
		if got := Stronger(pair[0], pair[1]); got != pair[2] {
			t.Errorf("stronger of %q and %q: %q", pair[0], pair[1], got)
		}
	}
	if !slices.Equal(UpTo(MFA), []string{Password, MFA}) || len(UpTo("x")) != 0 || !slices.Equal(UpTo(Passkey), Values()) {
		t.Error(UpTo(MFA), UpTo("x"), UpTo(Passkey))
	}
}
