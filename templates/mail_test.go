package templates

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const link = "https://auth.example.com/password/reset/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"

func mailSamples() []sample {
	name := "annemarie-josephine.von-der-muehlenbrock@" + strings.Repeat("department.", 8) + "example.com"
	account := "https://auth.example.com/account/"
	samples := []sample{
		{"sign-in", SignInMail{"alice", "3 March 2026, 09:12 UTC", "Firefox on Linux", "192.0.2.17", account}},
		{"sign-in-long", SignInMail{name, "3 March 2026, 09:12 UTC", "", "2001:db8:85a3:1234:5678:8a2e:370:7334", account}},
		{"sign-in-hostile", SignInMail{hostile, hostile, hostile, hostile, link}},
		{"factor-hostile", FactorMail{hostile, hostile, "code-used", link}},
		{"reset", ResetMail{"alice", link, 30}},
		{"reset-long", ResetMail{name, link + strings.Repeat("a", 300), 30}},
		{"reset-hostile", ResetMail{hostile, link, 30}},
		{"address", AddressMail{"alice", link, 24}},
		{"address-hostile", AddressMail{hostile, link, 24}},
		{"password-changed", PasswordChangedMail{"alice", "3 March 2026, 09:12 UTC", "https://auth.example.com/password/forgot/"}},
		{"invitation", InvitationMail{"alice", link, "3 March 2026, 09:12 UTC"}},
		{"invitation-operator", InvitationMail{"", link, "3 March 2026, 09:12 UTC"}},
		{"invitation-long", InvitationMail{name, link + strings.Repeat("a", 300), "30 September 2026, 09:12 UTC"}},
		{"invitation-hostile", InvitationMail{hostile, link, hostile}},
		{"sign-up", SignUpMail{link, 24}},
		{"known", KnownMail{"alice", "https://auth.example.com/login/"}},
		{"known-long", KnownMail{name, "https://auth.example.com/login/"}},
		{"known-hostile", KnownMail{hostile, "https://auth.example.com/login/"}},
		{"password-changed-hostile", PasswordChangedMail{hostile, hostile, link}},
	}
	for change := range changes() {
		samples = append(samples, sample{"factor-" + change, FactorMail{"alice", "3 March 2026, 09:12 UTC", change, account}})
	}
	return samples
}

// Each message is well formed, says the same in both forms, and loads nothing.
func TestEveryMailIsWellFormed(t *testing.T) {
	mails, err := NewMails()
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[reflect.Type]bool{}
	for _, s := range mailSamples() {
		t.Run(s.name, func(t *testing.T) {
			subject, text, html, err := mails.Render(s.page)
			if err != nil {
				t.Fatal(err)
			}
			drawn[reflect.TypeOf(s.page)] = true
			if subject == "" || len(subject) > 60 || strings.ContainsAny(subject, "\r\n") {
				t.Errorf("the subject is %q", subject)
			}
			if !strings.HasSuffix(text, "\n") || strings.HasPrefix(text, "\n") || strings.Contains(text, "\n\n\n") || strings.ContainsAny(text, "<{") && !strings.Contains(s.name, "hostile") {
				t.Errorf("the text is %q", text)
			}
			if strings.Contains(html, "<script>") || regexp.MustCompile(`(?i)<(img|link|iframe|object|style|form|input|video|audio|svg)\b| src=| srcset=| on[a-z]+=|url\(|@import`).MatchString(outsideText(html)) {
				t.Errorf("the HTML loads something, or has a script:\n%s", html)
			}
			target := reflect.ValueOf(s.page).FieldByName("Link").String()
			if strings.Count(html, `href="`+target+`"`) != 1 || strings.Count(html, "href=") != 1 || !strings.Contains(text, "\n"+target+"\n") {
				t.Errorf("the link is not in both forms:\n%s\n%s", text, html)
			}
			if !strings.Contains(s.name, "hostile") {
				for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
					if plain := plainText(html); !strings.Contains(plain, strings.Trim(strings.Join(strings.Fields(paragraph), " "), ":")) {
						t.Errorf("the HTML lacks %q:\n%s", paragraph, plain)
					}
				}
			}
		})
	}
	for name, of := range mailsByName() {
		if !drawn[reflect.TypeOf(of)] {
			t.Errorf("no sample of %s", name)
		}
	}
	_, _, _, err = mails.Render(FactorMail{Change: "unknown"})
	if err == nil {
		t.Error("Render wrote a message about an unknown change")
	}
	_, _, _, err = mails.Render("reset")
	if err == nil {
		t.Error("Render wrote a message of an unknown kind")
	}
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
