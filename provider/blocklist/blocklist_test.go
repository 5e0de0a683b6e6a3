package blocklist

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	own := []string{"alice.long", "alice.long@corp.example", "Äbtissin", "Hearth & Home", "login.hearth.example"}
	for _, test := range []struct {
		password string
		want     Reason
	}{
		// NIST SP 800-63B-4 §3.1.1.2: passwords of former breaches.
		{"password", Common}, {"PassWord", Common}, {"manchesterunited", Common}, {"passwordpassword", Common},
		{"password12345678", Common},
		{"Passw0rd!Passw0rd!", Common}, {"P@ssw0rd2026!", Common}, {"Summer2024!Summer", Common}, {"football dragon", Common},
		{"iloveyoubaby1234", Common}, {"1234dragon1234567890", Common},
		{"friend of emily", Common},
		// Repeated and sequential characters, and rows of keys.
		{strings.Repeat("a", 15), Row}, {strings.Repeat("ab", 20), Row}, {"abcdefghijklmno", Row}, {"onmlkjihgfedcba", Row},
		{"qwertyuiopasdfgh", Row}, {"1qaz2wsx3edc4rfv", Row},
		{"111111222222333333", Row}, {"123123123123123", Row}, {strings.Repeat("x9", 500), Row}, {"ääääääääääääääää", Row},
		// The context: the person and the service.
		{"alice.long", Own}, {"Alice.Long@Corp.Example", Own}, {"alice-long-alice", Own}, {"al1ce.l0ng2026", Own},
		{"hearth & home 1", Own}, {"HearthHearth2026!", Own}, {"login.hearth.example", Own}, {"äbtissin-äbtissin", Own},
		{"gnol.ecila1234", None},
		// The whole password is compared: not the words in it.
		{"correct horse battery staple", None}, {"correcthorsebattery", None}, {"the password of alice is long", None},
		{"another row of words", None}, {"several words that I remember", None},
		{"x7Kp2mQz9RtLw4Yc", None}, {"48201957364", None}, {"x7K", None}, {"", None}, {"pw LRVK4ZYMMQ7NSZ3YVNMFIKVB6F", None},
		{"東京タワーの下で会う約束", None}, {"\x00\xff", None},
	} {
		if got := Check(test.password, own...); got != test.want {
			t.Errorf("%q: %q, want %q", test.password, got, test.want)
		}
	}
}

// A long password does not keep a processor busy: what follows its first characters is not read.
func TestCheckReadsTheBeginning(t *testing.T) {
	const rest = "several words that I remember"
	for many, want := range map[int]Reason{mostRead - 4: None, mostRead: Row} {
		if got := Check(strings.Repeat("ä", many) + rest); got != want {
			t.Errorf("%d characters of a row: %q, want %q", many, got, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("Passw0rd!", "alice")
	f.Fuzz(func(t *testing.T, password, name string) {
		first, second := Check(password, name), Check(password, name)
		if first != second {
			t.Errorf("%q, then %q", first, second)
		}
	})
}
