package totp

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"rsc.io/qr"
)

// The secret of the test vectors in both documents.
var vectorKey = []byte("12345678901234567890")

// RFC 4226 appendix D.
func TestRFC4226Vectors(t *testing.T) {
	for counter, want := range []string{"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
		"399871", "520489"} {
		if got := code(vectorKey, uint64(counter)); got != want {
			t.Errorf("counter %d: %s, want %s", counter, got, want)
		}
	}
}

// RFC 6238 appendix B, the rows for SHA-1. The document has eight digits, of which these are the last
// six.
func TestRFC6238Vectors(t *testing.T) {
	secret := text.EncodeToString(vectorKey)
	for _, test := range []struct {
		at   int64
		want string
	}{{59, "94287082"}, {1111111109, "07081804"}, {1111111111, "14050471"}, {1234567890, "89005924"},
		{2000000000, "69279037"}, {20000000000, "65353130"}} {
		got, err := Code(secret, Step(test.at))
		if err != nil || got != test.want[2:] {
			t.Errorf("at %d: %s %v, want %s", test.at, got, err, test.want[2:])
		}
	}
}

// wide returns digits as a keyboard for Japanese types them.
func wide(digits string) string {
	return strings.Map(func(r rune) rune { return r + '０' - '0' }, digits)
}

func TestMatch(t *testing.T) {
	secret := NewSecret()
	const now = 1_800_000_015 // in the middle of a step
	at := func(step int64) string {
		made, err := Code(secret, Step(now)+step)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for _, test := range []struct {
		rule, typed string
		last, want  int64 // steps from now; want 99: none
	}{
		{"RFC6238/5.2 the step now", at(0), -9, 0},
		{"RFC6238/5.2 the step before", at(-1), -9, -1},
		{"RFC6238/6 the step after", at(1), -9, 1},
		{"RFC6238/5.2 two steps before", at(-2), -9, 99},
		{"RFC6238/6 two steps after", at(2), -9, 99},
		{"RFC6238/5.2 a step that was used", at(0), 0, 99},
		{"RFC6238/5.2 a step before one that was used", at(-1), 0, 99},
		{"a step after one that was used", at(1), 0, 1},
		{"spaces do not matter", " " + at(0)[:3] + " " + at(0)[3:] + "\n", -9, 0},
		{"a dash does not matter", at(0)[:3] + "–" + at(0)[3:], -9, 0},
		{"a space that does not break", at(0)[:3] + "\u00a0" + at(0)[3:], -9, 0},
		{"wide digits", wide(at(0)), -9, 0},
		{"another sign does matter", at(0)[:3] + "." + at(0)[3:], -9, 99},
		{"a digit is missing", at(0)[1:], -9, 99},
		{"a digit too many", at(0) + "0", -9, 99},
		{"nothing", "", -9, 99},
	} {
		t.Run(test.rule, func(t *testing.T) {
			want := Step(now) + test.want
			if test.want == 99 {
				want = 0
			}
			got, err := Match(secret, test.typed, now, Step(now)+test.last)
			if err != nil || got != want {
				t.Errorf("step %d %v, want %d", got, err, want)
			}
		})
	}
	for _, broken := range []string{"", "not base32!", "ABC1"} {
		_, err := Match(broken, at(0), now, 0)
		if !errors.Is(err, errSecret) {
			t.Errorf("secret %q: %v", broken, err)
		}
	}
}

func TestSecret(t *testing.T) {
	// RFC 4226 §4: 160 bits.
	secret := NewSecret()
	raw, err := text.DecodeString(secret)
	if err != nil || len(raw) != 20 || secret == NewSecret() {
		t.Error(secret, err)
	}
	if got := Grouped("ABCDEFGHIJ"); got != "ABCD EFGH IJ" {
		t.Error(got)
	}
	if got := Grouped("ABCDEFGH"); got != "ABCD EFGH" {
		t.Error(got)
	}
}

func TestURI(t *testing.T) {
	for _, test := range []struct{ issuer, account, label string }{
		{"auth.example", "alice", "auth.example:alice"},
		{"Example: GmbH & Co", "a+b@example.org", "Example  GmbH & Co:a+b@example.org"},
		{"auth.example", "jörg?x=1&y#z%/:", "auth.example:jörg?x=1&y#z%/ "},
	} {
		u, err := url.Parse(URI("ABCD", test.issuer, test.account))
		if err != nil {
			t.Fatal(err)
		}
		got := u.Query()
		if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/"+test.label || got.Get("secret") != "ABCD" ||
			got.Get("issuer") != strings.ReplaceAll(test.issuer, ":", " ") ||
			got.Get("algorithm") != "SHA1" || got.Get("digits") != "6" || got.Get("period") != "30" || len(got) != 5 {
			t.Errorf("%s: %+v", u, got)
		}
		if strings.Contains(u.RawQuery, "+") {
			t.Error("a plus sign:", u)
		}
	}
}

func TestQR(t *testing.T) {
	address, err := QR(URI(NewSecret(), "auth.example", "alice"))
	raw, ok := strings.CutPrefix(address, "data:image/svg+xml;base64,")
	picture, err2 := base64.StdEncoding.DecodeString(raw)
	if err != nil || err2 != nil || !ok {
		t.Fatal(address, err, err2)
	}
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	made, err := qr.Encode("otpauth://totp/a", qr.M)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := drawing("otpauth://totp/a")
	if err != nil {
		t.Fatal(err)
	}
	black := map[[2]int]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(drawn, -1) {
		var x, y, n, back int
		_, err := fmt.Sscanf(run[0], "M%d %dh%dv1h-%dz", &x, &y, &n, &back)
		if err != nil || n != back {
			t.Fatal(run[0], err)
		}
		for i := range n {
			black[[2]int{x + i - quiet, y - quiet}] = true
		}
	}
	for y := -quiet; y < made.Size+quiet; y++ {
		for x := -quiet; x < made.Size+quiet; x++ {
			inside := x >= 0 && y >= 0 && x < made.Size && y < made.Size
			if black[[2]int{x, y}] != (inside && made.Black(x, y)) {
				t.Fatalf("module %d %d is drawn: %t", x, y, black[[2]int{x, y}])
			}
		}
	}
	again, err := QR(strings.Repeat("x", 5000))
	if err == nil || again != "" {
		t.Error("a text that is too long has a picture")
	}
}
