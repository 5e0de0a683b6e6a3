package templates

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mandate/templates/languages"
)

const sampleLink = "https://auth.example.com/password/reset/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"

func mailSamples() []sample {
	name := "annemarie-josephine.von-der-muehlenbrock@" + strings.Repeat("department.", 8) + "example.com"
	account := "https://auth.example.com/account/"
	at := time.Date(2026, time.March, 3, 9, 12, 0, 0, time.UTC).Unix()
	samples := []sample{
		{"sign-in", SignInMail{"alice", at, "Firefox on Linux", "192.0.2.17", account}},
		{"sign-in-long", SignInMail{name, at, "", "2001:db8:85a3:1234:5678:8a2e:370:7334", account}},
		{"sign-in-hostile", SignInMail{hostile, at, hostile, hostile, sampleLink}},
		{"factor-hostile", FactorMail{hostile, at, "code-used", sampleLink, ""}},
		{"factor-username-hostile", FactorMail{hostile, at, "username-changed", sampleLink, ""}},
		{"factor-refused-server", FactorMail{"alice", at, "factor-refused", account, "Example Company"}},
		{"factor-refused-hostile", FactorMail{hostile, at, "factor-refused", sampleLink, hostile}},
		{"reset", ResetMail{"alice", sampleLink, 30}},
		{"reset-long", ResetMail{name, sampleLink + strings.Repeat("a", 300), 30}},
		{"reset-hostile", ResetMail{hostile, sampleLink, 30}},
		{"address", AddressMail{"alice", sampleLink, 24}},
		{"address-hostile", AddressMail{hostile, sampleLink, 24}},
		{"new-address", NewAddressMail{"alice", false, sampleLink, 24}},
		{"new-address-taken", NewAddressMail{"alice", true, account, 24}},
		{"new-address-hostile", NewAddressMail{hostile, false, sampleLink, 24}},
		{"former-address", FormerAddressMail{"alice", at, sampleLink, 3}},
		{"former-address-lost", FormerAddressMail{name, at, account, 0}},
		{"former-address-hostile", FormerAddressMail{hostile, at, sampleLink, 3}},
		{"password-changed", PasswordChangedMail{"alice", at, "https://auth.example.com/password/forgot/"}},
		{"password-changed-hostile", PasswordChangedMail{hostile, at, sampleLink}},
		{"invitation", InvitationMail{"alice", sampleLink, at}},
		{"invitation-operator", InvitationMail{"", sampleLink, at}},
		{"invitation-long", InvitationMail{name, sampleLink + strings.Repeat("a", 300), at}},
		{"invitation-hostile", InvitationMail{hostile, sampleLink, at}},
		{"sign-up", SignUpMail{sampleLink, 24}},
		{"known", KnownMail{"alice", "https://auth.example.com/login/"}},
		{"known-long", KnownMail{name, "https://auth.example.com/login/"}},
		{"known-hostile", KnownMail{hostile, "https://auth.example.com/login/"}},
	}
	for _, change := range []string{"totp-added", "totp-removed", "passkey-added", "passkey-removed", "account-added",
		"account-removed", "codes-made", "code-used", "factor-refused", "factors-reset", "address-changed",
		"username-changed"} {
		samples = append(samples, sample{"factor-" + change, FactorMail{"alice", at, change, account, ""}})
	}
	return samples
}

// Each message is well formed, says the same in both forms, and loads nothing.
func TestEveryMailIsWellFormed(t *testing.T) {
	mails, err := NewMails(Brand{})
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[reflect.Type]bool{}
	for _, l := range mails.Languages.All() {
		for _, s := range mailSamples() {
			checkMail(t, mails, l, s)
			drawn[reflect.TypeOf(s.page)] = true
		}
	}
	for name, of := range mailsByName() {
		if !drawn[reflect.TypeOf(of)] {
			t.Errorf("no sample of %s", name)
		}
	}
	english := mails.Languages.English()
	_, _, _, err = mails.Render(english, FactorMail{Change: "unknown"})
	if err == nil {
		t.Error("Render wrote a message about an unknown change")
	}
	_, _, _, err = mails.Render(english, "reset")
	if err == nil {
		t.Error("Render wrote a message of an unknown kind")
	}
}

func checkMail(t *testing.T, mails *Mails, l *languages.Language, s sample) {
	t.Run(l.Tag()+"/"+s.name, func(t *testing.T) {
		subject, text, html, err := mails.Render(l, s.page)
		if err != nil {
			t.Fatal(err)
		}
		if subject == "" || utf8.RuneCountInString(subject) > 70 || strings.ContainsAny(subject, "\r\n") {
			t.Errorf("the subject is %q", subject)
		}
		if !strings.HasSuffix(text, "\n") || strings.HasPrefix(text, "\n") || strings.Contains(text, "\n\n\n") ||
			strings.ContainsAny(text, "<{") && !strings.Contains(s.name, "hostile") {
			t.Errorf("the text is %q", text)
		}
		if strings.Contains(html, "<script>") ||
			regexp.MustCompile(
				`(?i)<(img|link|iframe|object|style|form|input|video|audio|svg)\b| src=| srcset=| on[a-z]+=|url\(|@import`).
				MatchString(outsideText(html)) {
			t.Errorf("the HTML loads something, or has a script:\n%s", html)
		}
		target := reflect.ValueOf(s.page).FieldByName("Link").String()
		if strings.Count(html, `href="`+target+`"`) != 1 || strings.Count(html, "href=") != 1 ||
			!strings.Contains(text, "\n"+target+"\n") {
			t.Errorf("the link is not in both forms:\n%s\n%s", text, html)
		}
		if !strings.Contains(s.name, "hostile") {
			if !strings.Contains(html, `<html lang="`+l.Tag()+`">`) {
				t.Errorf("the HTML does not name its language: %s", html)
			}
			for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
				if plain := plainText(html); !strings.Contains(plain,
					strings.Trim(strings.Join(strings.Fields(paragraph), " "), ":")) {
					t.Errorf("the HTML lacks %q:\n%s", paragraph, plain)
				}
			}
		}
	})
}

func mailsByName() map[string]any { return mails() }

var (
	element = regexp.MustCompile(`<[^>]*>`)
	head    = regexp.MustCompile(`(?s)<head>.*</head>`)
)

// outsideText returns only the elements of a document.
func outsideText(html string) string { return strings.Join(element.FindAllString(html, -1), "") }

// plainText returns only the text of a document.
func plainText(html string) string {
	return strings.Join(strings.Fields(element.ReplaceAllString(head.ReplaceAllString(html, ""), "")), " ")
}
