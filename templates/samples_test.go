package templates

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// hostile is what somebody types who wants to break a page: out of its markup, its attributes or its layout.
var hostile = `"><script>alert(1)</script>' onfocus='x' javascript:{{.}} ` + "\u202e" + strings.Repeat("M", 4096)

// qrSample is a small picture in place of a QR code.
const qrSample = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCA4IDgiPjxwYXRoIGZpbGw9IiNmZmYiIGQ9Ik0wIDBoOHY4SDB6Ii8+PHBhdGggZD0iTTIgMmg0djRIMnoiLz48L3N2Zz4="

const long = "Département fédéral de l’économie – Verwaltungszusammenarbeitsplattform für grenzüberschreitende " +
	"Angelegenheiten (production, eu-central-1)"

type sample struct {
	name string
	page any
}

var (
	alice   = Frame{Username: "alice"}
	admin   = Frame{Username: "admin@operations.example.com", Admin: true}
	nasty   = Frame{Title: hostile, Username: hostile, Admin: true, Notice: hostile}
	badText = Field{Value: hostile, Error: hostile}
)

// hint is what pages say about new passwords.
const hint = "Use 15 to 1024 characters. Several unrelated words are easier to remember and harder to guess than one " +
	"word with special characters."

func samples() []sample {
	return append(peopleSamples(), append(developerSamples(), adminSamples()...)...)
}

func peopleSamples() []sample {
	consent := Consent{
		Frame:        alice,
		RedirectHost: "planner.example.com", RedirectURI: "https://planner.example.com/oauth/callback",
		Access: Access{Asker: Asker{Application: "Holiday Planner", Owner: "bob"}, Scopes: []ConsentScope{
			{"read", "See your profile: your name, username and email address", false},
			{"groups", "See which groups you belong to", true},
			{"write", "", false},
		}},
		Ticket: "t1", Action: "/o/authorize/", SwitchURL: "/login/?switch=1",
	}
	bare := consent
	bare.Scopes, bare.Owner, bare.Loopback = nil, "", true
	bare.Application = "مخطط الرحلات 日本語"
	bare.RedirectHost, bare.RedirectURI = "127.0.0.1", "http://127.0.0.1:51004/callback"
	posing := consent
	posing.Application = "Mandate. You have already allowed this; press Allow to stay signed in. " + long
	posing.RedirectHost, posing.RedirectURI = "an app on this device (com.example.app:/)", "com.example.app:/"+
		strings.Repeat("deep/", 60)
	posing.Scopes = nil
	for i := range 40 {
		posing.Scopes = append(posing.Scopes,
			ConsentScope{fmt.Sprintf("ledger:%d:write", i), fmt.Sprintf("Change what stands in ledger number %d", i), i%9 == 4})
	}
	mailbox, hard := "https://mail.example.com/v1", "https://"+strings.Repeat("subdomain.", 12)+"example.com/"+
		strings.Repeat("path-", 60)
	partly := consent
	partly.Beyond = Beyond{"introspection, write", 1}
	posing.Beyond.Unknown = 900
	api := consent
	api.Resources = []API{{"Mailbox", mailbox, false}}
	apis := consent
	apis.Resources, apis.AlsoServer = []API{{"Mailbox", mailbox, false}, {long, hard, true},
		{strings.Repeat("Extraordinarily", 6), "urn:example:ledger", false}}, true
	document := consent
	document.Application, document.Owner, document.Unchecked = "Agent", "", true
	document.DocumentHost, document.DocumentURL = "agent.example.com", "https://agent.example.com/oauth/client.json"
	document.RedirectHost, document.RedirectURI = "agent.example.com", "https://agent.example.com/oauth/callback"
	unnamed := document
	unnamed.Application, unnamed.DocumentHost, unnamed.DocumentURL = "", "xn--bcher-kva.example:8443",
		"https://xn--bcher-kva.example:8443/"+strings.Repeat("path-", 60)
	local := document
	local.Loopback, local.LocalOnly, local.RedirectHost, local.RedirectURI = true, true, "a program on this computer",
		"http://localhost:51004/callback"
	registered := document
	registered.DocumentHost, registered.DocumentURL = "", ""
	vouched := registered
	vouched.Voucher = "https://directory.example.com/" + strings.Repeat("path-", 60)
	// this server makes the path
	stranger := Asker{hostile, hostile, hostile, hostile, true, false, hostile, "/logo/x/", hostile, hostile, hostile}
	worst := Access{stranger, []ConsentScope{{hostile, hostile, true}}, Beyond{hostile, 7},
		[]API{{hostile, hostile, true}}, true, true, []Learned{{hostile, hostile}, {hostile, ""}}}
	broken := Consent{nasty, worst, hostile, hostile, true, hostile, "/o/authorize/", "/login/"}
	device := DeviceApproval{Frame: alice, Access: consent.Access, Code: "WXYZ-BCDF", Program: "PlannerTV/3.1",
		Address: "192.0.2.17", Near: true, Asked: "3 March 2026, 09:12 UTC",
		Ticket: "t1", Action: "/device/answer/", SwitchURL: "/login/?switch=1"}
	farDevice := device
	farDevice.Access, farDevice.Program, farDevice.Address, farDevice.Near = posing.Access, "",
		"2001:db8:85a3:1234:5678:8a2e:370:7334", false
	farDevice.Resources = apis.Resources
	described := consent
	described.Learns = []Learned{{"role", ""}, {"https://planner.example.com/id", "email"}}
	described.LogoURL = "/static/icon.svg"
	described.HomeURL, described.PolicyURL, described.TermsURL = "https://planner.example.com/",
		"https://planner.example.com/policy", hard

	apps := []AuthorizedApp{
		{"Holiday Planner", "bob", "read groups", "3 March 2026", "/account/revoke/1", "", nil,
			"Its owner is responsible for it, who is not an administrator of this server.", false,
			"Last used 3 March 2026, 14:00 UTC."},
		{"Reader", "bob", "read", "3 March 2026", "/account/revoke/3", "", []API{{"Mailbox", mailbox, false}},
			"An administrator of this server is responsible for it.", false, "Never used."},
		{"Agent", "", "read", "3 March 2026", "/account/revoke/4", "https://agent.example.com/oauth/client.json", nil,
			"It came by itself. Nobody here is responsible for it or has checked it.", true,
			"Last used 3 March 2026, 14:00 UTC."},
		{long, "", "read write groups openid profile email", "2 March 2026", "/account/revoke/2", "",
			[]API{{"Mailbox", mailbox, false}, {long, hard, false}}, "It registered itself. Nobody here is responsible for it " +
				"or has checked it.", true, ""},
	}
	sessions := SessionList{EndAllAction: "/account/sessions/end/", Rows: []SessionRow{
		{"Firefox on Linux", "192.0.2.17", "3 March 2026, 09:12 UTC", "3 March 2026, 09:40 UTC", true, "/account/sessions/1"},
		{"Safari on iPhone", "2001:db8:85a3::8a2e:370:7334", "1 March 2026, 18:03 UTC", "2 March 2026, 07:55 UTC", false,
			"/account/sessions/2"},
	}}
	activity := Activity{[]ActivityRow{
		{Text: "A wrong password was refused.", At: "25 November 2026, 22:47 UTC", Address: "2001:db8:1234:5678::/64",
			Browser: "Firefox on Windows", Alarming: true, Times: 1371},
		{Text: "Signed in.", At: "25 November 2026, 21:00 UTC", Address: "198.51.100.7",
			Browser: "Safari on iPhone", Times: 1},
		{Text: "A passkey was added.", Object: long, At: "25 November 2026, 20:00 UTC", Address: "198.51.100.7",
			Browser: long, Times: 1},
		{Text: "A wrong second factor was refused.", At: "25 November 2026, 19:00 UTC", Address: "203.0.113.9",
			Alarming: true, Times: 1},
		{Text: "The account was changed.", At: "25 November 2026, 18:00 UTC", By: "By an administrator.", Times: 1},
	}}
	passkeys := []PasskeyRow{
		{"Phone", "3 March 2026", "4 March 2026, 09:12 UTC", true, true, "/account/passkeys/1/",
			"/account/passkeys/1/remove/"},
		{long, "3 March 2026", "", false, false, "/account/passkeys/2/", "/account/passkeys/2/remove/"},
		{"مفتاح", "4 March 2026", "", true, false, "/account/passkeys/3/", "/account/passkeys/3/remove/"},
	}
	identities := IdentityList{[]IdentityRow{
		{"Example Company", "3 March 2026", "4 March 2026, 09:12 UTC", "/account/identities/1/remove/", false},
		{long, "3 March 2026", "", "/account/identities/2/remove/", false},
		{"https://login.former-company.example.com/tenant", "3 March 2025", "", "/account/identities/3/remove/", true},
	}, []ServerButton{{"Another Company", "/account/identities/new/another/"}, {long, "/account/identities/new/long/"}}}
	request := &Ceremony{"/login/passkey/", `{"challenge":"AAAA","rpId":"id.example.com"}`, "ticket", "/login/?next=%2F"}
	again := Again{"request", "Sign in again", "The application requires that you sign in again."}
	failed := "That username and password do not belong together."
	return []sample{
		{"home", Home{Frame: alice, Tiles: tiles(6), Duties: true, Applications: 3, AuthorizedApps: 12, Sessions: 2}},
		{"home-person", Home{Frame: alice, Tiles: tiles(2)}},
		{"home-many", Home{Frame: alice, Recent: tiles(6), Tiles: tiles(60), Searches: true, Most: 240}},
		{"home-found", Home{Frame: alice, Tiles: tiles(3), Searches: true, Query: "planner"}},
		{"home-found-nothing", Home{Frame: alice, Searches: true, Query: long}},
		{"home-empty", Home{Frame: alice}},
		{"home-empty-administrator", Home{Frame: Frame{Username: "root", Admin: true}, Duties: true, Sessions: 1}},
		{"home-signed-out", Home{SignedOut: true}},
		{"home-signed-out-elsewhere", Home{SignedOut: true, Elsewhere: &ServerButton{long, "/logout/with/company/"}}},
		{"home-nobody", Home{}},
		{"home-no-account", Home{NoAccount: true}},
		{"home-hostile", Home{Frame: nasty, Recent: []Tile{{hostile, "https://evil.example/", hostile, "“", "/logo/x/"}},
			Searches: true, Query: hostile, Duties: true}},
		{"home-signed-out-hostile", Home{SignedOut: true, Elsewhere: &ServerButton{hostile, "/logout/with/company/"}}},
		{"login", Login{Next: "/o/authorize/?x=1", Action: "/login/", ForgotURL: "/password/forgot/"}},
		{"login-sign-up", Login{Next: "/o/authorize/?x=1", Action: "/login/", ForgotURL: "/password/forgot/",
			SignUpURL: "/sign-up/?next=%2Fo%2Fauthorize%2F"}},
		{"login-closed", Login{Next: "/o/authorize/?x=1", Action: "/login/", ForgotURL: "/password/forgot/", Closed: true}},
		{"login-failed", Login{ByAddress: true, Name: Field{Value: "alice"}, Error: failed, Action: "/login/",
			ForgotURL: "/password/forgot/"}},
		{"login-signed-in", Login{Frame: alice, Next: "/o/authorize/?x=1", Action: "/login/", ForgotURL: "/password/forgot/",
			Passkey: request}},
		{"login-signed-in-failed",
			Login{Frame: alice, Name: Field{Value: "bob"}, Error: failed, Next: "/", Action: "/login/"}},
		{"login-again", Login{Frame: alice, Next: "/o/authorize/?x=1", Action: "/login/", Again: again}},
		{"login-again-failed", Login{Frame: alice, Name: Field{Value: "alice"}, Error: failed, Action: "/login/",
			Again: again}},
		{"login-hostile", Login{nasty, badText, true, hostile, hostile, hostile, "/login/", Again{hostile, hostile, hostile},
			&stranger, &Ceremony{"/login/passkey/", hostile, hostile, "/login/?" + url.QueryEscape(hostile)},
			"/password/forgot/", "/sign-up/", []ServerButton{{hostile, "/login/with/company/"}}, true}},
		{"login-servers", Login{Next: "/o/authorize/?x=1", Action: "/login/", Passkey: request,
			Servers: []ServerButton{{"Example Company", "/login/with/company/"}, {long, "/login/with/long/"},
				{"مفتاح", "/login/with/key/"}}}},
		{"login-servers-again", Login{Frame: alice, Next: "/o/authorize/?x=1", Action: "/login/", Again: again,
			Servers: []ServerButton{{"Example Company", "/login/with/company/"}}}},
		{"login-passkey", Login{Next: "/o/authorize/?x=1", Action: "/login/", Passkey: request}},
		{"login-passkey-failed",
			Login{Next: "/", Action: "/login/", Error: "This passkey was not accepted. It may have been removed from your " +
				"account. Try again, or sign in in another way.", Passkey: request}},
		{"login-described", Login{Next: "/o/authorize/?x=1", Action: "/login/",
			Asker: &Asker{Application: "Agent", Unchecked: true, LogoURL: "/static/icon.svg",
				PolicyURL: "https://agent.example.com/policy", TermsURL: "https://agent.example.com/terms"}}},
		{"factor", Factor{Action: "/login/factor/", Next: "/o/authorize/?x=1", Account: "alice", Code: true, Recovery: true,
			SwitchURL: "/login/"}},
		{"factor-step-up", Factor{Frame: alice, Action: "/login/factor/", Wanted: "urn:mandate:acr:mfa", Account: long,
			StepUp: true, Code: true, SwitchURL: "/login/"}},
		{"factor-wrong", Factor{Action: "/login/factor/", Account: "alice", Code: true, Recovery: true,
			CodeError: "This code is wrong, or it was used already. Wait for the next code of your app, then try again.",
			SwitchURL: "/login/"}},
		{"factor-wrong-recovery", Factor{Action: "/login/factor/", Account: "alice", Code: true, Recovery: true,
			RecoveryError: "This code is wrong, or it was used already. Wait for the next code of your app, then try again.",
			SwitchURL:     "/login/"}},
		{"factor-passkey", Factor{Action: "/login/factor/", Account: "alice", Recovery: true, SwitchURL: "/login/",
			Passkey: request}},
		{"factor-passkey-and-code", Factor{Action: "/login/factor/", Account: "alice", Code: true, Recovery: true,
			SwitchURL: "/login/", Passkey: request}},
		{"factor-passkey-wrong", Factor{Frame: alice, Action: "/login/factor/", Wanted: "urn:mandate:acr:passkey",
			Account: "alice", StepUp: true, SwitchURL: "/login/", Passkey: request,
			PasskeyError: "This passkey was not accepted. It may have been removed from your account. Try again, or sign in " +
				"in another way."}},
		{"factor-hostile", Factor{nasty, "/login/factor/", hostile, hostile, hostile, true, true, true, hostile, hostile,
			"/login/", &Ceremony{"/login/factor/", hostile, hostile, "/login/"}, hostile}},
		{"new-totp", NewTOTP{Frame: alice, Action: "/account/factors/totp/", Account: "alice", Picture: qrSample,
			URI:    "otpauth://totp/auth.example:alice?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
			Secret: "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", Sealed: "s1", CancelURL: "/account/"}},
		{"new-totp-required", NewTOTP{Action: "/login/factor/", Next: "/o/authorize/?x=1", Account: long, Required: true,
			Picture: qrSample, URI: "otpauth://totp/a", Secret: "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", Sealed: "s1",
			CodeError: "This is not the code that your app shows now. Check that the clock of your phone is set automatically.",
			SwitchURL: "/login/"}},
		{"new-totp-hostile", NewTOTP{nasty, "/login/factor/", hostile, hostile, hostile, true, hostile, hostile, hostile,
			hostile, hostile, "/account/", "/login/"}},
		{"recovery-codes", RecoveryCodes{alice, []string{"abcd-efgh-ijkl-mnop", "bcde-fghi-jklm-nopq", "cdef-ghij-klmn-opqr",
			"defg-hijk-lmno-pqrs", "efgh-ijkl-mnop-qrst", "fghi-jklm-nopq-rstu", "ghij-klmn-opqr-stuv", "hijk-lmno-pqrs-tuvw",
			"ijkl-mnop-qrst-uvwx", "jklm-nopq-rstu-vwxy"}, 10, "/account/factors/codes/", "/account/"}},
		{"recovery-codes-none", RecoveryCodes{Frame: Frame{Username: "alice", Notice: "Your authenticator app was added."},
			Action: "/account/factors/codes/", AccountURL: "/account/"}},
		{"recovery-codes-few",
			RecoveryCodes{Frame: alice, Left: 1, Action: "/account/factors/codes/", AccountURL: "/account/"}},
		{"recovery-codes-hostile", RecoveryCodes{nasty, []string{hostile}, 1, "/a", "/b"}},
		{"forgot", Forgot{Action: "/password/forgot/", LoginURL: "/login/"}},
		{"forgot-wrong", Forgot{Action: "/password/forgot/", LoginURL: "/login/",
			Name: Field{"", "Enter your username or your email address."}}},
		{"forgot-many", Forgot{Action: "/password/forgot/", LoginURL: "/login/", Name: Field{Value: "alice"},
			Error: "Too many failed attempts. Wait a little, then try again."}},
		{"forgot-no-mail", Forgot{Action: "/password/forgot/", LoginURL: "/login/", NoMail: true}},
		{"forgot-hostile", Forgot{nasty, "/password/forgot/", "/login/", badText, hostile, false}},
		{"reset", Reset{Action: "/password/reset/abc/", Account: "alice", PasswordHint: hint}},
		{"reset-wrong", Reset{Action: "/password/reset/abc/",
			Account:  "annemarie-josephine.von-der-muehlenbrock@operations.example.com",
			Password: Field{Error: "Use at least 15 characters. A few words in a row are good."}}},
		{"reset-hostile", Reset{nasty, "/password/reset/abc/", hostile, badText, hostile, hostile}},
		{"setup", Setup{Action: "/setup/abc", PasswordHint: hint, Passkeys: true}},
		{"setup-wrong", Setup{Action: "/setup/abc", UsernameField: Field{"root", ""},
			Email:    Field{"root", "This is not an email address."},
			Password: Field{"", "Choose a password of at least 8 characters."}}},
		{"setup-hostile", Setup{nasty, "/setup/abc", badText, badText, badText, badText, badText, hostile, hostile, true}},
		{"sign-up-ask", AskSignUp{Action: "/sign-up/", LoginURL: "/login/", Next: "/"}},
		{"sign-up-ask-wrong",
			AskSignUp{Action: "/sign-up/", LoginURL: "/login/", Next: "/", Domains: "@example.com, @operations.example.com",
				Email: Field{"alice@example.org", "Use an address that ends in @example.com, @operations.example.com."}}},
		{"sign-up-ask-many",
			AskSignUp{Action: "/sign-up/", LoginURL: "/login/", Next: "/", Email: Field{Value: "alice@example.com"},
				Error: "Too many requests. Try again in 5 minutes."}},
		{"sign-up-ask-hostile", AskSignUp{nasty, "/sign-up/", "/login/", hostile, badText, hostile, hostile}},
		{"sign-up-asked", AskedSignUp{Hours: 24, AgainURL: "/sign-up/", LoginURL: "/login/"}},
		{"sign-up-asked-hostile", AskedSignUp{nasty, 24, "/sign-up/", "/login/"}},
		{"sign-up", SignUp{PasswordHint: hint, Action: "/sign-up/abc/", Email: "ann@example.com", Own: true,
			UsernameField: Field{Value: "ann@example.com"}, Passkeys: true, Next: "/"}},
		{"sign-up-wrong", SignUp{PasswordHint: hint, Frame: alice, Action: "/sign-up/abc/",
			Email: "annemarie-josephine.von-der-muehlenbrock@operations.example.com", Own: true,
			UsernameField: Field{"alice", "A person with that username already exists."},
			Password:      Field{Error: "Use at least 15 characters. A few words in a row are good."},
			Error:         "This passkey was not accepted. Try again, or choose a password.",
			Servers:       []ServerButton{{"Example Company", "/login/with/company/"}, {long, "/login/with/other/"}}}},
		{"sign-up-servers", SignUp{PasswordHint: hint, Action: "/sign-up/abc/", Email: "ann@example.com", Next: "/account/",
			Servers: []ServerButton{{"Example Company", "/login/with/company/"}}}},
		{"sign-up-hostile", SignUp{nasty, "/sign-up/abc/", hostile, true, badText, badText, badText, badText, hostile,
			hostile, true, hostile, []ServerButton{{hostile, "/login/with/other/"}}}},
		{"sign-up-passkey", SignUpPasskey{Username: "annemarie-josephine.von-der-muehlenbrock@operations.example.com",
			Request: Ceremony{"/sign-up/abc/passkey/", "{}", "t1", "/sign-up/abc/"}, BackURL: "/sign-up/abc/"}},
		{"sign-up-passkey-hostile", SignUpPasskey{nasty, hostile, Ceremony{"/a", hostile, hostile, "/b"}, "/b"}},
		{"logout", Logout{Frame: alice, Action: "/logout/"}},
		{"logout-asked", Logout{alice, "/logout/", "Holiday Planner", "ticket", true, false,
			&Target{"planner.example.com", "https://planner.example.com/signed-out?from=mandate"}}},
		{"logout-aside", Logout{Frame{}, "/logout/", "Holiday Planner", "ticket", true, true,
			&Target{"planner.example.com", "https://planner.example.com/"}}},
		{"logout-nobody", Logout{Action: "/logout/"}},
		{"logout-hostile", Logout{nasty, "/logout/", hostile, hostile, true, true, &Target{hostile, hostile}}},
		{"consent", consent},
		{"consent-partly", partly},
		{"consent-loopback", bare},
		{"consent-posing", posing},
		{"consent-api", api},
		{"consent-apis", apis},
		{"consent-document", document},
		{"consent-document-unnamed", unnamed},
		{"consent-document-local", local},
		{"consent-registered", registered},
		{"consent-vouched", vouched},
		{"consent-described", described},
		{"consent-hostile", broken},
		{"device", Device{Frame: alice, Action: "/device/", SwitchURL: "/login/"}},
		{"device-linked", Device{Frame: alice, Code: Field{Value: "WXYZ-BCDF"}, Linked: true, Action: "/device/"}},
		{"device-wrong", Device{Frame: alice,
			Code: Field{"WXYZ-BCDG", "No device is waiting with this code. Check each letter."}, Action: "/device/"}},
		{"device-hostile", Device{nasty, badText, true, "/device/", "/login/"}},
		{"device-approval", device},
		{"device-approval-far", farDevice},
		{"device-approval-hostile", DeviceApproval{nasty, worst, hostile, hostile, hostile, false, hostile, hostile,
			"/device/answer/", "/login/"}},
		{"device-allowed", DeviceAnswered{alice, true, "/account/"}},
		{"device-denied", DeviceAnswered{alice, false, "/account/"}},
		{"device-answered-hostile", DeviceAnswered{nasty, true, "/account/"}},
		{"excluded", Excluded{Frame: alice, Application: "Planner", Email: "alice@example.com", Groups: "staff, board",
			SwitchURL: "/login/", BackURL: "https://planner.example.com/oauth/callback?error=access_denied"}},
		{"excluded-nobody-new", Excluded{Frame: alice, Application: "Planner", NobodyNew: true, SwitchURL: "/login/"}},
		{"excluded-form", Excluded{Frame: alice, SwitchURL: "/login/",
			BackURI: "https://planner.example.com/oauth/callback", Parameters: []Hidden{{"error", "access_denied"}}}},
		{"excluded-hostile", Excluded{nasty, hostile, hostile, hostile, false, "/login/", "",
			"https://planner.example.com/cb", []Hidden{{hostile, hostile}}, &Target{hostile, hostile}}},
		{"form-post", FormPost{Frame: alice, Action: "https://planner.example.com/oauth/callback",
			Parameters: []Hidden{{"code", "mac_1"}, {"state", "a & b"}}}},
		{"form-post-hostile", FormPost{nasty, "https://planner.example.com/cb", []Hidden{{hostile, hostile}},
			&Target{hostile, hostile}, hostile}},
		{"form-post-unchecked",
			FormPost{Frame: alice, Action: "https://planner.example.com/oauth/callback",
				Parameters:  []Hidden{{"error", "login_required"}},
				Unchecked:   &Target{"planner.example.com", "https://planner.example.com/oauth/callback"},
				Description: "The person must sign in, which prompt=none forbids."}},
		{"account", Account{Frame: Frame{Username: "alice", Notice: "Your password was changed."}, FullName: "Alice Liddell",
			Email: "alice@example.com", Claims: []Fact{{"Phone number", "+41443334455"}},
			Methods: SignInMethods{TOTPSince: "3 March 2026", Codes: 9, RemoveTOTPURL: "/a", CodesURL: "/b"}, Authorized: apps,
			Sessions: sessions, PasswordAction: "/account/password",
			ProfileURL: "/account/profile/", EmailURL: "/account/email/",
			Passkeys: &PasskeyList{Rows: passkeys, AddURL: "/account/passkeys/new/"}, Activity: activity}},
		{"profile", Profile{Frame: alice, Action: "/account/profile/", CancelURL: "/account/", Named: true,
			FirstName: Field{Value: "Alice"}, Locales: []Option{{Label: "As the browser says"}, {Value: "de", Label: "Deutsch",
				Checked: true}}, Zones: []Option{{Label: "Not given"}, {Value: "Europe/Zurich"}}}},
		{"new-email", NewEmail{Frame: alice, Action: "/account/email/", CancelURL: "/account/", Present: "a@example.org"}},
		{"new-email-wrong", NewEmail{Frame: alice, Action: "/account/email/", CancelURL: "/account/", Email: badText}},
		{"new-email-hostile", NewEmail{nasty, "/e", "/c", hostile, badText, hostile}},
		{"profile-zone", Profile{Frame: alice, Action: "/account/profile/", CancelURL: "/account/",
			Zones: []Option{{Label: "Not given"}, {Value: long}}}},
		{"profile-hostile", Profile{nasty, "/p", "/c", true, badText, badText, []Option{{hostile, hostile, hostile, true}},
			[]Option{{hostile, hostile, hostile, false}}, hostile, hostile}},
		{"account-empty", Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a"}}},
		{"account-wrong", Account{Frame: alice, Methods: SignInMethods{Demanded: true, Due: "3 March 2026", AddTOTPURL: "/a"},
			PasswordAction: "/account/password", CurrentPassword: Field{Error: "This is not your current password."},
			KeepApprovals: true}},
		{"account-hostile", Account{nasty, hostile, hostile, hostile, []Fact{{hostile, hostile}},
			SignInMethods{hostile, 0, true, hostile, "/a", "/b", "/c", "", 0, true, nil, nil},
			[]AuthorizedApp{{hostile, hostile, hostile, hostile, "/a", hostile, []API{{hostile, hostile, false}}, hostile, true,
				hostile}}, SessionList{[]SessionRow{{hostile, hostile, hostile, hostile, true, "/b"}}, "/c"}, "/p", badText,
			badText, "/e", "/d", true, "/v", true,
			&PasskeyList{[]PasskeyRow{{hostile, hostile, hostile, true, true, "/k", "/r"}}, "/k", false},
			IdentityList{[]IdentityRow{{hostile, hostile, hostile, "/i", true}}, []ServerButton{{hostile, "/n"}}},
			Activity{[]ActivityRow{{hostile, hostile, hostile, hostile, hostile, hostile, true, 1 << 30}}}}},
		{"account-identities", Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a", NoPassword: true},
			Identities: identities}},
		{"account-no-identities",
			Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a"}, PasswordAction: "/account/password",
				Identities: IdentityList{Add: identities.Add}}},
		{"account-no-passkeys",
			Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a"}, PasswordAction: "/account/password",
				Passkeys: &PasskeyList{AddURL: "/account/passkeys/new/"}}},
		{"account-all-passkeys", Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a", CodesURL: "/b", Passkeys: 2},
			Passkeys: &PasskeyList{Rows: passkeys, Full: true}}},
		{"passkey", Passkey{Frame: alice, Passkey: passkeys[0], Action: "/k", CancelURL: "/c",
			NameField: Field{Value: "Phone"}}},
		{"passkey-wrong", Passkey{Frame: alice, Passkey: passkeys[1], Action: "/k", CancelURL: "/c",
			NameField: Field{long, "Use at most 150 characters."}}},
		{"passkey-hostile", Passkey{nasty, PasskeyRow{hostile, hostile, hostile, true, true, "/k", "/r"}, "/k",
			"/c", badText}},
		{"passkey-new", NewPasskey{Frame: alice, Request: request, CancelURL: "/c", Most: 20}},
		{"passkey-new-required",
			NewPasskey{Frame: alice, Request: request, CancelURL: "/c", Most: 20, Next: "/o/authorize/?x=1", Required: true}},
		{"passkey-new-failed",
			NewPasskey{Frame: alice, Request: request, CancelURL: "/c", Most: 20,
				Error: "This page was open for too long. Try again."}},
		{"passkey-new-full", NewPasskey{Frame: alice, CancelURL: "/c", Most: 20}},
		{"passkey-new-hostile", NewPasskey{nasty, &Ceremony{"/k", hostile, hostile, "/k"}, "/c", 20, hostile, hostile, true}},
		{"ask", Ask{Frame: alice, Heading: "Remove the passkey “" + long + "”?", Message: "It no longer signs you in.",
			Action: "/k", Button: "Remove the passkey", CancelURL: "/c", Danger: true}},
		{"ask-calm", Ask{Frame: alice, Heading: "Confirm your email address",
			Message: "Applications then learn that it is yours.",
			Details: []string{"Your account alice has the address alice@example.com."}, Action: "/k",
			Button: "Confirm the address", CancelURL: "/c"}},
		{"ask-hostile", Ask{nasty, hostile, hostile, "/k", hostile, "/c", true, true, []string{hostile}}},
		{"account-unverified", Account{Frame: alice, Methods: SignInMethods{AddTOTPURL: "/a"}, Email: "alice@example.com",
			Unverified: true, VerifyAction: "/account/address/"}},
		{"error", ErrorPage{Frame: alice, Status: 404, Heading: "Page not found",
			Message: "The address may be mistyped, or the page was deleted.", BackURL: "/", BackLabel: "To the start"}},
		{"error-diff", ErrorPage{Status: 400, Heading: "The application’s redirect URI is not registered",
			Message: "The application requested a response to a redirect URI that it has not registered, so no response was " +
				"sent. You can close this page: only the developer of the application can correct it.", Code: "invalid_request",
			RequestID: "01JQ8Z3KX0", Tell: true, Application: "Holiday Planner", Diff: &URIDiff{"redirect URI",
				"port", []Segment{{"https://planner.example.com:", false}, {"8443", true}, {"/oauth/callback", false}},
				[]Segment{{"https://planner.example.com", false}, {"", true}, {"/oauth/callback", false}}}}},
		{"error-unregistered", ErrorPage{Status: 400, Heading: "The application’s redirect URI is not registered",
			Message: "It has not registered a redirect URI.",
			Diff: &URIDiff{Of: "redirect URI", Part: "nothing is registered",
				Sent: []Segment{{"https://" + strings.Repeat("long-", 80) + "example.com/cb", true}}}}},
		{"error-hostile", ErrorPage{nasty, 500, hostile, hostile, hostile, hostile,
			&URIDiff{hostile, hostile, []Segment{{hostile, true}}, []Segment{{hostile, true}}}, hostile, "/", hostile,
			[]Link{{"/x", hostile}}, &Target{hostile, hostile}, true, hostile, hostile}},
		{"error-unchecked", ErrorPage{Frame: alice, Status: 400, Tell: true, Code: "invalid_scope",
			Description: "There is no scope \"x\".", Heading: "The application’s request was refused",
			Message:   "The request ended with an error, so nothing was allowed. You can close this page.",
			RequestID: "01JQ8Z3KX0", BackURL: "cursor://anysphere.cursor-mcp/oauth/callback?error=invalid_scope",
			Unchecked: &Target{"an app on this device (cursor)", "cursor://anysphere.cursor-mcp/oauth/callback"}}},
		{"errors", Errors{Codes: []ErrorCodeRow{{"invalid_request", "A parameter is missing.", "/errors/invalid_request/"}},
			Messages: []MessageRow{{[]Span{{"Keycloak: ", false}, {strings.Repeat("Unexpected error ", 9), true}},
				[]Span{{"the request was refused", false}}, []Span{{"read the reason", false}}}}}},
		{"errors-empty", Errors{}},
		{"errors-hostile", Errors{nasty, []ErrorCodeRow{{hostile, hostile, "/" + hostile}},
			[]MessageRow{{[]Span{{hostile, true}}, []Span{{hostile, false}}, nil}}}},
		{"error-code", ErrorCode{Name: "invalid_request", Cause: "A parameter is missing.", Cure: "Send it.",
			Source: "RFC 6749 §5.2", AllURL: "/errors/", Cases: []ErrorCase{{"pkce", "code_challenge", "Turn on PKCE."}}}},
		{"error-code-empty", ErrorCode{AllURL: "/errors/"}},
		{"error-code-hostile",
			ErrorCode{nasty, hostile, hostile, hostile, hostile, []ErrorCase{{"x", hostile, hostile}}, "/"}},
		{"error-client", ErrorPage{Status: 400, Heading: "This request is not valid",
			Message: "The program that sent you here uses a client ID that this server does not know.",
			Code:    "invalid_client", Description: "No application with this client_id is registered here.",
			RequestID: "01JQ8Z3KX0", Tell: true, SentID: strings.Repeat("a", 64) + "…"}},
		{"error-ways", ErrorPage{Status: 404, Heading: "This link does not work any more",
			Message: "It was already used, or it has expired, or the invitation was withdrawn.", Code: "not_found",
			RequestID: "01JQ8Z3KX0", BackURL: "/login/", BackLabel: "Sign in",
			More: []Link{{"/sign-up/", "Ask for a new link"}}}},
	}
}

func developerSamples() []sample {
	row := ApplicationRow{"Holiday Planner", "/o/applications/1/", "Yx3vQm8Zr1TtK0pLw5NcBg", "Confidential",
		"Authorization code, refresh token", "bob", "3 March 2026, 14:00 UTC", false, false}
	owned := []OwnedApplication{{"1", "Holiday Planner", "Yx3vQm8Zr1TtK0pLw5NcBg", "/o/applications/1/", false, true, ""},
		{"2", long, "nightly-import", "/o/applications/2/", true, false, ""}}
	list := Applications{Frame: alice, Rows: []ApplicationRow{row}, Registers: true, Pager: Pager{1, 1, 1, "", ""}}
	all := Applications{Frame: admin, TokensURL: "/admin/registration-tokens/", ShowOwner: true, Query: "plan",
		Selected: true, Pager: Pager{2, 9, 171, "?page=1", "?page=3"}}
	all.Filters = []Filter{{"standing", "Responsible",
		[]Option{{"", "Anybody", "", false}, {"open", "Nobody (came by itself)", "", true}}},
		{"unused", "Not used for", []Option{{"", "Any time", "", true}, {"90", "90 days", "", false}}}}
	for i := range 8 {
		r := row
		switch i % 4 {
		case 1:
			r.Name, r.ClientType, r.Grants = long, "Public", "Authorization code"
		case 2:
			r.Name, r.Grants, r.Owner = "nightly-import", "Client credentials",
				"svc-warehouse-replication@operations.example.com"
		case 3:
			r.Name, r.Owner, r.Suspended = "لوحة المتابعة", "مریم", true
		case 0:
			r.Owner, r.CameByItself, r.LastUsed = "Nobody", i > 0, "Never"
		}
		all.Rows = append(all.Rows, r)
	}

	radio := func(id, label string, options ...Option) Control {
		return Control{ID: id, Label: label, Kind: "radio", Options: options}
	}
	form := ApplicationForm{
		Frame: alice, New: true, Action: "/o/applications/register/", CancelURL: "/o/applications/",
		Name:         Control{ID: "name", Label: "Name", Kind: "text", Complete: "off", Hint: "People see it."},
		RedirectURIs: Control{ID: "redirect_uris", Label: "Redirect URIs", Lines: 4, Exact: true, Hint: "One per line."},
		ClientType: radio("client_type", "Client type",
			Option{"confidential", "Confidential", "It runs on a server and can keep a secret.", true},
			Option{"public", "Public", "It cannot keep a secret.", false}),
		Grants: Control{ID: "grant_type", Label: "Grants", Kind: "checkbox", Options: []Option{
			{"authorization_code", "Authorization code", "People sign in here and allow it.", true},
			{"client_credentials", "Client credentials", "The application acts for itself.", false},
			{"password", "Resource owner password", "It takes people’s passwords itself.", false}}},
		Scopes: Control{ID: "scope", Label: "Scopes", Kind: "checkbox", Options: []Option{
			{"read", "read", "Read scope", true}, {"write", "write", "Write scope", true}, {"groups", "groups", "", false}}},
		MayIntrospect: Control{ID: "may_introspect", Label: "May introspect tokens", Kind: "toggle",
			Hint: "For a resource server."},
		Others: []Control{
			{ID: "resources", Label: "Resources", Lines: 2, Exact: true, Optional: true, Hint: "The only ones."},
			{ID: "hash_client_secret", Label: "Client secret", Kind: "box", On: true},
			radio("profile", "Profile", Option{"", "None", "", true}, Option{"fapi2", "FAPI 2.0 Security Profile", "", false}),
			{ID: "jwks", Label: "Public keys (JWK Set)", Lines: 4, Exact: true, Optional: true},
			{ID: "response_modes", Label: "Response modes", Kind: "checkbox", Optional: true,
				Options: []Option{{"jwt", "", "", false}}},
			radio("algorithm", "Algorithm of the ID tokens", Option{"ES256", "", "Cheap to sign.", false},
				Option{"RS256", "", "", true}),
			{ID: "pairwise", Label: "Pairwise subjects", Kind: "box"},
			{Kind: "pair", Label: "Lifetimes", Pair: []Control{
				{ID: "access_token_lifetime", Label: "Access token, in seconds", Kind: "text", Optional: true},
				{ID: "refresh_token_lifetime", Label: "Refresh token, in seconds", Kind: "text", Optional: true}}},
		},
		Guarded: []Control{{ID: "skip_consent", Label: "Skip the consent page", Kind: "toggle", Hint: "Of your own."}},
	}
	wrong := form
	wrong.Frame, wrong.New, wrong.Admin, wrong.Privileges = admin, false, true, true
	wrong.Others = slices.Clone(form.Others)
	wrong.Name.Error = "Give it a name."
	wrong.RedirectURIs.Field = Field{"https://planner.example.com/cb#here\nplanner.example.com",
		"Line 1: a redirect URI has no fragment."}
	wrong.Scopes.Options = nil
	for i := range 40 {
		name := fmt.Sprintf("ledger:%d:write", i)
		wrong.Scopes.Options = append(wrong.Scopes.Options, Option{name, name, "", i%3 == 0})
	}
	for _, c := range []*Control{&wrong.ClientType, &wrong.Grants, &wrong.Scopes} {
		c.Error = "This is not possible for the “" + c.Label + "” of a public client."
	}
	for i := range wrong.Others {
		if c := &wrong.Others[i]; c.Kind != "pair" {
			c.Field = Field{"{\"keys\": [" + long + "]}", "The value is not supported."}
		}
	}
	for _, c := range append([]Control{wrong.Name, wrong.ClientType, wrong.Grants, wrong.RedirectURIs, wrong.Scopes},
		wrong.Others...) {
		if c.Error != "" {
			wrong.Errors = append(wrong.Errors, FieldError{c.ID, c.Error, c.Label})
		}
	}
	unanswered := form
	unanswered.Frame, unanswered.New, unanswered.Admin, unanswered.OwnerURL = admin, false, true,
		"/o/applications/1/owner/"
	meanwhile := unanswered
	meanwhile.Version, meanwhile.NowURL = "4", "/o/applications/1/update/"
	meanwhile.Errors = []FieldError{{ID: "", Message: "Somebody changed the application since you opened this page."},
		{ID: "", Message: "PKCE: Only an administrator may let an application come without PKCE."}}
	options := []Option{{hostile, hostile, hostile, true}}
	broken := form
	broken.Frame, broken.Action, broken.CancelURL, broken.Version = nasty, "/a", "/b", hostile
	broken.NowURL, broken.New, broken.Admin, broken.Privileges, broken.OwnerURL = "/now", true, true, true, "/o"
	broken.Others = nil
	for id, kind := range map[string]string{"a": "text", "b": "radio", "c": "checkbox", "d": "toggle", "pairwise": "box"} {
		c := Control{ID: id, Label: hostile, Hint: hostile, Kind: kind, Field: badText, Options: options}
		broken.Others = append(broken.Others, c)
	}
	broken.Others = append(broken.Others,
		Control{Kind: "pair", Label: hostile, Pair: []Control{{ID: "e", Label: hostile, Field: badText}}})
	broken.Errors = []FieldError{{"name", hostile, hostile}}

	choice := form
	choice.ProgramsURL = "/o/applications/programs/"
	choice.Cards = []Card{{"/o/applications/register/?kind=website", "Website with a server",
		"People sign in at a website whose own server can keep a secret."},
		{"/o/applications/register/?kind=api", "API", long}}
	website := form
	website.Kind = &FormKind{"website", "Website with a server", "People sign in at a website.",
		"The page of the website that receives the code, such as https://shop.example.org/callback.", false, "", false,
		"/o/applications/register/", "/admin/resources/new/", "https://id.example.org/o"}
	api := wrong
	api.New, api.Kind = true,
		&FormKind{"api", "API", "It receives tokens.", "", true, "", true, "/o/applications/register/",
			"/admin/resources/new/", ""}
	refused := form
	refused.Kind = &FormKind{"api", "API", "It receives tokens.", "", true, "Only an administrator can do that. " + long,
		false, "/o/applications/register/", "/admin/resources/new/", ""}
	brokenKind := broken
	brokenKind.Kind = &FormKind{hostile, hostile, hostile, hostile, true, "", true, "/c", "/r", hostile}

	detail := Application{
		Frame: alice, Name: "Holiday Planner", ClientID: row.ClientID, ClientType: "Confidential", Owner: "alice",
		Created:      "3 March 2026",
		Grants:       []string{"authorization_code", "refresh_token"},
		RedirectURIs: []string{"https://planner.example.com/oauth/callback", "http://127.0.0.1/callback"},
		Scopes:       []string{"read", "write", "groups"}, HashSecret: true, AccessLifetime: "36000 seconds (10 hours)",
		RefreshLifetime: "30 days",
		AuthorizeURL:    "https://id.example.com/o/authorize/", TokenURL: "https://id.example.com/o/token/",
		DeviceURL: "https://id.example.com/o/device_authorization/", IntrospectURL: "https://id.example.com/o/introspect/",
		UpdateURL: "/o/applications/1/update/", DeleteURL: "/o/applications/1/delete/",
		RotateURL: "/o/applications/1/rotate/", ListURL: "/o/applications/",
	}
	detail.Plain = []PlainText{{"Support by phone", "+49 30 1234"}}
	detail.Samples = []Sample{{"Website with a server",
		[]Snippet{{"website-go", "Go", "package main\n\nfunc main() { // " + long + strings.Repeat(" and so on", 20) + "\n}"},
			{"website-py", "Python", "print(1)"}}}}
	detail.Use = ApplicationUse{"A person registered it on a page of this server", "3 March 2026, 14:00 UTC",
		"Vouched for by https://directory.example.com", "17", "More than 1,000", true, "/o/applications/1/revoke/"}
	detail.PushURL, detail.AssertionAudience = "https://id.example.com/o/par/", "https://id.example.com/o"
	detail.SignedWith, detail.Standing = "ES256", "Its owner, who is not an administrator"
	detail.PostLogoutURIs, detail.BackchannelURI = []string{"https://planner.example.com/bye"},
		"https://planner.example.com/logout"
	detail.LaunchURL = "https://planner.example.com/"
	detail.IDTokenClaims = "Included"
	detail.Rotation = "Kept, if they are bound to a key or a certificate"
	detail.Resources = []string{"https://mail.example.com/v1", "urn:example:ledger"}
	detail.Keys = []ApplicationKey{{"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", "EC P-256", "ES256",
		"3 March 2026, 14:00 UTC"}, {"", "RSA", "", "Never"}, {"2026-03", "", "", "2 March 2026, 9:30 UTC"}}
	detail.TestKeyURL, detail.TestAlgorithms = "/o/applications/1/test-key/",
		[]Option{{"ES256", "ES256", "", true}, {"PS256", "PS256", "", false}, {"EdDSA", "EdDSA", "", false}}
	fresh := detail
	fresh.NewKey, fresh.UsesKeys = "{\n  \"kty\": \"EC\",\n  \"d\": \"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"\n}",
		true
	fresh.Frame = Frame{Username: "alice", Notice: "Holiday Planner is registered."}
	fresh.NewSecret, fresh.OldSecretUntil = "mcs_7Jw0b2Xr8sVn1kQd5tYh3uLp9zAe6cGf4iMo0vBq2W", "4 March 2026 at 17:00 UTC"
	detail.Refused = RefusedRequests{[]RefusedRequest{
		{"Authorization request", "invalid_request", "code_challenge is missing: this server requires PKCE (RFC 7636) with " +
			"code_challenge_method=S256.", false, "From a browser", 3, "3 March 2026, 13:59 UTC", "3 March 2026, 14:03 UTC",
			"Turn on PKCE with S256 in the program. If it has no such setting, an administrator can let this application come " +
				"without it.", "/o/applications/1/update/#pkce", "Change the application"},
		{"Token request", "invalid_client", "There is no client with this id, or the secret is wrong.", false,
			"Sender unknown", 1, "2 March 2026, 9:30 UTC", "2 March 2026, 9:30 UTC", "", "", ""},
		{"Token request", "", "This application may not request the scope groups.", true, "", 40, "2 March 2026, 9:30 UTC",
			"3 March 2026, 9:30 UTC", "Allow the application the scope, or remove it from the settings of the program.",
			"/o/applications/1/update/#scope", "Change the application"},
		{"Further requests", "", "", false, "Sender unknown", 12000, "2 March 2026, 9:30 UTC", "2 March 2026, 9:30 UTC",
			"", "", ""},
	}, true, "/admin/events/?kind=request.refused"}
	public := detail
	public.Name, public.Public, public.ClientType = long, true, "Public"
	public.RedirectURIs, public.Scopes, public.Grants = nil, nil, nil
	public.Refused = RefusedRequests{}
	public.Keys, public.TestKeyURL, public.JWKSURI = nil, "", "https://planner.example.com/keys"
	public.Standing, public.OwnerURL, public.Suspended = "An administrator", "/o/applications/1/owner/",
		"This application is suspended: the account of its owner is disabled."
	public.Warnings = []string{"planner://" + long + ": any app on a person's device can take the scheme planner."}
	public.MayIntrospect, public.SkipConsent, public.EndpointAudience, public.RequirePushed, public.RequireSigned = true,
		true, true, true, true
	public.PKCE, public.WithoutPKCE = "Required", "27 November 2026, 14:02 UTC"
	many := []string{hostile, "b"}
	brokenDetail := Application{nasty, hostile, hostile, hostile, hostile, hostile,
		ApplicationUse{hostile, hostile, hostile, hostile, hostile, true, "/x"},
		[]Sample{{hostile, []Snippet{{"x", hostile, hostile}}}}, true, false, many, many, many, many, hostile, false, hostile,
		false, []ApplicationKey{{hostile, hostile, hostile, hostile}}, hostile, true, "/t",
		[]Option{{hostile, hostile, hostile, true}}, hostile, true, true, hostile, hostile, true, true, true, hostile,
		hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, true, true, true, "/o", hostile,
		hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, many, hostile,
		hostile, Restriction{many, many, true}, "/p", "/u", "/d", "/r", "/l", hostile, hostile, true,
		RefusedRequests{[]RefusedRequest{{hostile, hostile, hostile, true, hostile, 2, hostile, hostile, hostile, "/x",
			hostile}}, true, "/e"}, many, nil, []PlainText{{hostile, hostile}}}

	settings := &ProgramSettings{"Grafana", "grafana.ini", "[auth.generic_oauth]\nclient_id = " + row.ClientID +
		"\nclient_secret = CLIENT_SECRET\nauth_url = https://id.example.com/" + strings.Repeat("long", 40) + "\n",
		[]string{"A person without an email address cannot sign in."}, "read in its documentation, 2026-11-27", false, true}
	first := *settings
	first.WithSecret, first.WithoutSecret = true, false
	fresh.Settings, detail.Settings = &first, settings
	brokenDetail.Settings = &ProgramSettings{hostile, hostile, hostile, many, hostile, true, true}
	programs := Programs{alice, "",
		[]ProgramRow{{"Grafana", "?program=grafana"}, {"Proxmox Virtual Environment", "?program=proxmox"},
			{long, "?program=x"}}, []ProgramRow{{"Quarkus", "?program=quarkus"}}, "?program=website",
		"/o/applications/register/"}
	address := Field{"https://grafana.example.org", ""}
	program := ProgramForm{Frame: alice, Program: "grafana", Title: "Grafana", Action: "/o/applications/programs/",
		ListURL: "/o/applications/programs/", Name: Field{"Grafana", ""}, Address: &address}
	wrongProgram := program
	wrongProgram.Library, wrongProgram.Address = true,
		&Field{"grafana", "It must begin with https://, or with http:// on this computer or in a private network."}
	wrongProgram.Errors = []FieldError{
		{ID: "url", Message: "It must begin with https://, or with http:// on this computer or in a private network."},
		{ID: "", Message: "Scopes: " + long}}
	website2 := program
	website2.Address, website2.Program, website2.Title = nil, "website", "Another website with a server"
	website2.Questions = &Questions{Field{}, []Option{{"", "I do not know", "", true}, {"required", "Yes", "", false}},
		[]Option{{"", "I do not know", "", true}, {"on", "In the ID token", "", false}},
		[]Option{{"no", "No", "", true}, {"yes", "Yes", "", false}}}
	brokenProgram := ProgramForm{nasty, hostile, hostile, "/a", "/l", false, badText, &badText,
		&Questions{badText, options, options, options}, []FieldError{{ID: "url", Message: hostile}}}

	overlap := []Option{{"0", "At once", "", false}, {"3600", "In 1 hour", "", false}, {"86400", "In 1 day", "", true},
		{"604800", "In 7 days", "", false}, {"2592000", "In 30 days", "", false}}
	return []sample{
		{"applications", list},
		{"applications-admin", all},
		{"applications-empty", Applications{Frame: alice, Registers: true}},
		{"applications-empty-refused", Applications{Frame: alice}},
		{"applications-nothing-found", Applications{Frame: alice, Query: "zebra", Selected: true}},
		{"applications-hostile",
			Applications{nasty, "/t", []ApplicationRow{{hostile, "/x", hostile, hostile, hostile, hostile, hostile, true, true}},
				hostile, []Filter{{"standing", hostile, []Option{{hostile, hostile, hostile, true}}}}, true, true,
				Pager{2, 3, 50, "?page=1", "?page=3"}, true}},
		{"application-form", form},
		{"application-form-wrong", wrong},
		{"application-form-unanswered", unanswered},
		{"application-form-meanwhile", meanwhile},
		{"application-form-hostile", broken},
		{"application-form-choice", choice},
		{"application-form-website", website},
		{"application-form-api-wrong", api},
		{"application-form-refused", refused},
		{"application-form-kind-hostile", brokenKind},
		{"application", detail},
		{"programs", programs},
		{"programs-nothing-found", Programs{Frame: alice, Query: "zebra", OtherURL: "?program=website", KindsURL: "/k"}},
		{"programs-hostile",
			Programs{nasty, hostile, []ProgramRow{{hostile, "?program=x"}}, []ProgramRow{{hostile, "?program=y"}}, "/o", "/k"}},
		{"program-form", program},
		{"program-form-wrong", wrongProgram},
		{"program-form-website", website2},
		{"program-form-hostile", brokenProgram},
		{"application-new", fresh},
		{"application-public", public},
		{"application-hostile", brokenDetail},
		{"rotate", Rotate{alice, "Holiday Planner", "/r", "/c", overlap, ""}},
		{"rotate-wrong", Rotate{alice, long, "/r", "/c", overlap, "Choose one of these."}},
		{"rotate-hostile", Rotate{nasty, hostile, "/r", "/c", options, hostile}},
		{"confirm", Confirm{alice, "Delete this application?",
			"Holiday Planner stops working at once, everywhere. This cannot be undone.", "/d", "Delete the application", "/c",
			true, []string{"Its client ID and secret stop working", "31 access tokens and 12 refresh tokens are revoked",
				"12 people have allowed it to act for them"}, nil, nil, "", nil, nil}},
		{"confirm-after", Confirm{Frame: admin, Heading: "Remove the account of Example Company of “alice”?", Action: "/d",
			Button: "Remove the account", CancelURL: "/c", Danger: true,
			After: []Option{{Value: "again", Label: "Let the address link an account again"}}}},
		{"confirm-fate", Confirm{Frame: admin, Heading: "Delete “alice”?", Message: "This cannot be undone.", Action: "/d",
			Button: "Delete the person", CancelURL: "/c", Danger: true, Owned: owned,
			Fate: []Option{{"take-over", "I take them over", "They continue to work.", false},
				{"delete", "Delete them", "", false}}, FateError: "Choose one."}},
		{"owner", Owner{Frame: admin, Name: "Holiday Planner", Owner: "alice",
			Standing: "Its owner, who is not an administrator", Suspended: "This application is suspended: the account of its " +
				"owner is disabled.", Action: "/o", CancelURL: "/c", RedirectURIs: []string{"https://planner.example.com/cb"},
			Version: "3"}},
		{"owner-mine-wrong", Owner{Frame: admin, Name: long, Owner: admin.Username, Standing: "An administrator", Mine: true,
			Action: "/o", CancelURL: "/c", Username: Field{"nobody", "There is no person with that username."}}},
		{"owner-hostile", Owner{nasty, hostile, hostile, hostile, hostile, false, "/o", "/c", badText,
			[]string{hostile}, hostile}},
		{"confirm-hostile", Confirm{nasty, hostile, hostile, "/d", hostile, "/c", true, []string{hostile},
			[]OwnedApplication{{hostile, hostile, hostile, "/o/1", true, true, ""}}, options, hostile, options,
			[]SentField{{hostile, hostile}}}},
		{"walk-choices", Walk{Frame: alice, Intro: "Choose a site.",
			Choices: []WalkChoice{{"Holiday Planner", "It may read your calendar.", "/walk/?site=1", "Go to Holiday Planner"},
				{long, "", "/walk/?site=2", "Go to " + long}}}},
		{"walk", Walk{Frame: alice, Intro: "Every message of the authorization code flow, as it went over the wire a " +
			"moment ago.", RestartURL: "/walk/", Steps: []WalkStep{
			{Title: "Ask for consent", Text: "The application sends your browser here with the digest of a secret that it " +
				"keeps for now.",
				Request: "GET /o/authorize/?response_type=code&client_id=Yx3vQm8Zr1TtK0pLw5NcBg&redirect_uri=http%3A%2F%2F127.0.0.1%3A51004%2Fcallback&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256 HTTP/1.1\nHost: id.example.com", Response: "HTTP/1.1 302 Found\nLocation: http://127.0.0.1:51004/callback?code=mac_…&iss=https%3A%2F%2Fid.example.com%2Fo"},
			{Title: "Exchange the code",
				Request: "POST /o/token/ HTTP/1.1\nContent-Type: " +
					"application/x-www-form-urlencoded\n\ngrant_type=authorization_code&code=mac_…",
				Response: "{\n  \"access_token\": \"mat_…\",\n  \"token_type\": \"Bearer\",\n  \"expires_in\": 36000\n}"},
			{Title: "Call the API"},
			{Title: "Read the ID token",
				Tokens: []WalkToken{{"The ID token", "The server states who the person is.", "OIDC Core §2",
					strings.Repeat("eyJ", 300), "{\n  \"alg\": \"ES256\"\n}", "{\n  \"sub\": \"" + strings.Repeat("x", 255) + "\"\n}",
					[]Fact{{"sub", "The person whom the token identifies."}}}, {Title: "The DPoP proof"}},
				Checks: []string{"alg is ES256.", "The signature is valid."}}}}},
		{"walk-empty", Walk{Frame: alice}},
		{"walk-hostile", Walk{nasty, hostile, []WalkChoice{{hostile, hostile, "/walk/", hostile}},
			[]WalkStep{{hostile, hostile, hostile, hostile,
				[]WalkToken{{hostile, hostile, hostile, hostile, hostile, hostile, []Fact{{hostile, hostile}}}},
				[]string{hostile}}}, "/walk/"}},
	}
}

func adminSamples() []sample {
	events := Events{Frame: admin, Action: "/admin/events/", ExportAction: "/x", Most: 100000, NewestURL: "?",
		OlderURL: "?before=1-a", Filtered: true, Person: "alice", Since: "2026-11-01",
		Kinds: []Option{{Label: "All"}, {Value: "sign-in", Label: "A person has signed in"},
			{Value: "sign-in.failed", Label: "A sign-in was refused", Checked: true}},
		Rows: []EventRow{
			{At: "2026-11-25 22:47:03", Since: "2026-11-25 22:02:51", Kind: "sign-in.failed", Meaning: "A sign-in was refused.",
				Detail: "password", Person: "alice", Address: "2001:db8:1234:5678::/64", Browser: "Firefox on Windows", Count: 1371,
				KindURL: "?kind=a", PersonURL: "?p", AddressURL: "?a"},
			{At: "2026-11-25 21:00:00", Kind: "sign-in", Meaning: "A person has signed in.", Detail: "pwd otp", Actor: "alice",
				Person: "alice", Object: "Session Zv0jCQWQc0a1", ObjectURL: "?o", Address: "198.51.100.7",
				Browser: "Safari on iPhone", Count: 1, KindURL: "?kind=a", PersonURL: "?p", ActorURL: "?b", AddressURL: "?a"},
			{At: "2026-11-25 20:59:59", Kind: "application.changed", Meaning: "An application was changed.",
				Detail: "name redirect_uris scopes access_token_lifetime post_logout_redirect_uris backchannel_logout_uri",
				Actor:  long, Person: long, Object: "Application " + long, ObjectURL: "?o", Address: "198.51.100.7", Browser: long,
				Count: 1, KindURL: "?kind=a", PersonURL: "?p", ActorURL: "?b", AddressURL: "?a"},
			{At: "2026-11-25 20:00:00", Kind: "person.promoted", Meaning: "A person has become an administrator.",
				Actor: "Operator root", Person: "alice", Count: 1, KindURL: "?kind=a", PersonURL: "?p"},
			{At: "2026-11-25 19:00:00", Kind: "key.added", Meaning: "A signing key was added.", Detail: "RSA",
				Actor: "This server", Object: "Key 3Zv0jCQWQc0a1", Count: 1, KindURL: "?kind=a", ObjectURL: "?o"},
		}}
	users := Users{Frame: admin, NewURL: "/admin/users/new/", Pager: Pager{1, 2, 31, "", "?page=2"}, Rows: []UserRow{
		{"alice", "/admin/users/1/", "Alice Liddell", "alice@example.com", "staff, ledger", true, true, false},
		{"bob", "/admin/users/2/", "", "", "", false, false, true},
		{strings.Repeat("very-", 20) + "long", "/admin/users/3/", long, strings.Repeat("mail", 30) + "@example.com",
			strings.Repeat("group, ", 30), true, false, false},
		{"مریم", "/admin/users/4/", "مریم میرزاخانی", "maryam@example.com", "ریاضی", true, false, false},
	}}
	groups := []Option{{"staff", "staff", "", true}, {"night shift", "night shift", "", false}}
	form := UserForm{Frame: admin, New: true, PasswordHint: hint, Action: "/a", CancelURL: "/c", Groups: groups,
		Active: true}
	change := form
	change.New, change.DeleteURL, change.Administrator = false, "/d", true
	change.Methods = SignInMethods{TOTPSince: "3 March 2026", ResetURL: "/e", NoPassword: true,
		Accounts: []IdentityRow{{"Example Company", "3 March 2026", "4 March 2026, 09:12 UTC", "", false},
			{strings.Repeat("Extraordinarily", 6), "3 March 2026", "", "", true}}}
	change.UsernameField, change.Email = Field{"alice", "Somebody else has this username."},
		Field{"alice@", "This is not an email address."}
	change.FirstName, change.LastName = Field{"Alice", ""}, Field{"Liddell", ""}
	change.Errors = []FieldError{{ID: "username", Message: change.UsernameField.Error},
		{ID: "email", Message: change.Email.Error}}
	change.Claims = &ClaimsForm{EmailVerified: true, PhoneVerifiedError: "There is no phone number that could be " +
		"confirmed.", Birthdate: Field{"1.1.1970", "Write it as 1970-12-31."}, Address: Field{"1 Rabbit Lane\nOxford", ""}}
	self := change
	self.Self, self.Errors, self.Groups = true, nil, nil
	self.UsernameField.Error, self.Email.Error = "", ""
	linked := self
	linked.Glance = &Glance{Active: true, LastSignIn: "25 November 2026, 21:00 UTC", Sessions: 3,
		Factors: "authenticator app, 2 passkeys, 9 recovery codes", Failures: 1371}
	linked.Activity, linked.EventsURL = Activity{
		[]ActivityRow{{Text: "A wrong password was refused.", At: "25 November 2026, 22:47 UTC",
			Address: "2001:db8:1234:5678::/64", Browser: "Firefox on Windows", Alarming: true, Times: 1371},
			{Text: "A passkey was added.", Object: long, At: "25 November 2026, 20:00 UTC", Address: "198.51.100.7",
				Browser: long, Times: 1},
			{Text: "The account was changed.", At: "25 November 2026, 18:00 UTC", By: "By an administrator.", Times: 1}}}, "/e"
	self.Glance = &Glance{Administrator: true, NoAddress: true}
	linked.Self, linked.ResetAction, linked.ResetMinutes, linked.ResetLink = false, "/r", 30,
		"https://auth.example.com/password/reset/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"
	others := slices.Concat(initialTokenSamples(), resourceSamples(), accessSamples(), siteSamples())
	return append(others, []sample{
		{"invitations", Invitations{Frame: admin, NewURL: "/n", ListURL: "/l", BackURL: "/u",
			Pager: Pager{1, 2, 31, "", "?page=2"}, Rows: []InvitationRow{
				{Email: "ann@example.com", URL: "/i", Groups: "staff, night shift", Inviter: "root",
					Until: "3 March 2026, 09:12 UTC"},
				{Email: strings.Repeat("mail", 30) + "@example.com", URL: "/i", Groups: strings.Repeat("group, ", 30),
					Until: "3 March 2026, 09:12 UTC", Expired: true}}}},
		{"invitations-empty", Invitations{Frame: admin, NewURL: "/n", ListURL: "/l", BackURL: "/u"}},
		{"invitations-nothing-found", Invitations{Frame: admin, NewURL: "/n", ListURL: "/l", BackURL: "/u", Query: "zebra"}},
		{"invitations-off", Invitations{Frame: admin, BackURL: "/u", Off: true}},
		{"invitations-hostile",
			Invitations{nasty, hostile, []InvitationRow{{hostile, "/i", hostile, hostile, hostile, true, true, true, true}},
				Pager{2, 3, 50, "?page=1", "?page=3"}, "/n", "/l", "/u", true}},
		{"invitation-waiting",
			Invitation{Frame: admin, InvitationRow: InvitationRow{Email: "ann@example.com", Until: "3 March 2026, 09:12 UTC",
				Waiting: true}, Since: "1 March 2026, 09:12 UTC", Life: "7 days", Mails: true, RenewAction: "/r", WithdrawURL: "/w",
				CancelURL: "/c"}},
		{"invitation-unsent",
			Invitation{Frame: admin, InvitationRow: InvitationRow{Email: "ann@example.com", Until: "3 March 2026, 09:12 UTC",
				Unsent: true}, Since: "1 March 2026, 09:12 UTC", Life: "7 days", Mails: true, RenewAction: "/r", WithdrawURL: "/w",
				CancelURL: "/c"}},
		{"invitation-expired",
			Invitation{Frame: admin, InvitationRow: InvitationRow{Email: "ann@example.com", Until: "3 March 2026, 09:12 UTC",
				Expired: true}, Since: "1 March 2026, 09:12 UTC", Life: "7 days", Mails: true, RenewAction: "/r", WithdrawURL: "/w",
				CancelURL: "/c", Errors: []FieldError{{ID: "", Message: "Somebody here has this address already."}}}},
		{"invitation", Invitation{Frame: admin,
			InvitationRow: InvitationRow{Email: "ann@example.com", Groups: "staff", Inviter: "root",
				Until: "3 March 2026, 09:12 UTC"}, Since: "1 March 2026, 09:12 UTC", Life: "7 days", Mails: true, RenewAction: "/r",
			WithdrawURL: "/w", CancelURL: "/c"}},
		{"invitation-hostile",
			Invitation{nasty, InvitationRow{hostile, "/i", hostile, hostile, hostile, true, true, true, true}, hostile, hostile,
				false, "/r", "/w", "/c", []FieldError{{ID: "", Message: hostile}}}},
		{"invite", Invite{Frame: admin, Action: "/n", Other: "/l", CancelURL: "/c",
			Groups:    []Option{{Value: "staff"}, {Value: "night shift", Checked: true}},
			Expires:   []Option{{"86400", "1 day", "", false}, {"604800", "7 days", "", true}},
			Languages: []Option{{"en", "English", "", true}, {"de", "Deutsch", "", false}}, Mails: true}},
		{"invite-wrong", Invite{Frame: admin, Action: "/n", Other: "/l", CancelURL: "/c",
			Recipient: Field{"ann", "This is not an email address: write it as name@example.org."},
			Errors:    []FieldError{{ID: "recipient", Message: "This is not an email address: write it as name@example.org."}},
			Expires:   []Option{{"604800", "7 days", "", true}}}},
		{"invite-list", Invite{Frame: admin, Several: true, Action: "/l", Other: "/n", CancelURL: "/c",
			Expires: []Option{{"604800", "7 days", "", true}}, Mails: true, ByHand: true, Most: 1000,
			List: Field{"ann\nbob", "Nobody was invited."},
			Errors: []FieldError{
				{ID: "list", Message: "Line 1, email: This is not an email address: write it as name@example.org."},
				{ID: "list", Message: "Line 2, email: This is not an email address: write it as name@example.org."}}}},
		{"invite-hostile", Invite{nasty, true, "/l", "/c", "/n", badText, badText,
			[]Option{{hostile, hostile, hostile, true}}, []Option{{hostile, hostile, hostile, true}},
			[]Option{{"xx", hostile, hostile, true}}, hostile, hostile, hostile, true, true, 1000,
			[]FieldError{{ID: "list", Message: hostile}, {ID: "by_hand", Message: hostile}}}},
		{"invited", Invited{Frame: admin, BackURL: "/c",
			Rows: []InvitedRow{{"ann@example.com",
				"https://auth.example.com/sign-up/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"}}}},
		{"invited-list", Invited{Frame: admin, BackURL: "/c",
			All: "email,link\nann@example.com,https://auth.example.com/sign-up/YWJj/\n" + strings.Repeat("mail", 30) +
				"@example.com,https://auth.example.com/sign-up/YWJj/\n",
			Rows: []InvitedRow{{"ann@example.com",
				"https://auth.example.com/sign-up/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"},
				{strings.Repeat("mail", 30) + "@example.com",
					"https://auth.example.com/sign-up/YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU2Nzg5MA/"}}}},
		{"invited-hostile", Invited{nasty, []InvitedRow{{hostile, hostile}, {hostile, hostile}}, hostile, "/c"}},
		{"users", users},
		{"events", events},
		{"server-check", ServerCheck{Frame: admin, At: "3 March 2026, 14:00 UTC", Wrong: true,
			Rows: []CheckRow{{"wrong", "issuer", "https://id.example.com", "The issuer is another one.", "Restart it."}},
			Fine: []CheckRow{{"ok", "clock", "", "The clocks agree.", ""}}}},
		{"server-check-empty", ServerCheck{Frame: admin}},
		{"server-check-hostile", ServerCheck{nasty, hostile, true, []CheckRow{{hostile, hostile, hostile, hostile, hostile}},
			[]CheckRow{{hostile, hostile, hostile, hostile, hostile}}}},
		{"events-first", Events{Frame: admin, Rows: events.Rows[:2], Kinds: events.Kinds, Action: "/admin/events/",
			ExportAction: "/x", Most: 100000}},
		{"events-empty", Events{Frame: admin, Action: "/admin/events/"}},
		{"events-wrong", Events{Frame: admin, Action: "/admin/events/", Filtered: true, Person: "zebra", Kinds: events.Kinds,
			Errors: []FieldError{
				{ID: "person", Message: "There is no person with this username, and no event with this subject."}}}},
		{"events-nothing-found", Events{Frame: admin, Action: "/admin/events/", Filtered: true, Person: "zebra"}},
		{"events-hostile", Events{nasty,
			[]EventRow{{hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, 1 << 40, "?a",
				"?b", "?c", "?d", "?e"}}, []Option{{hostile, hostile, "", true}}, "/e", "/x", "?n", "?o", 5, hostile, hostile,
			hostile, hostile, hostile, hostile, true, []FieldError{{ID: "person", Message: hostile}}}},
		{"users-empty", Users{Frame: admin, NewURL: "/n"}},
		{"users-nothing-found", Users{Frame: admin, NewURL: "/n", Query: "zebra"}},
		{"users-hostile", Users{nasty, []UserRow{{hostile, "/u", hostile, hostile, hostile, false, true, true}}, hostile,
			Pager{2, 3, 50, "?page=1", "?page=3"}, "/n", "/i"}},
		{"user-form", form},
		{"user-form-wrong", change},
		{"user-form-self", self},
		{"user-form-link", linked},
		{"user-form-hostile", UserForm{nasty, false, "/a", "/c", "/d", badText, badText, badText, badText, badText, hostile,
			[]Option{{hostile, hostile, hostile, true}}, []Option{{hostile, hostile, hostile, true}}, true, true, true, false,
			&ClaimsForm{true, true, hostile, hostile, badText, badText, badText, badText, badText, badText, badText, badText,
				badText, badText, badText, badText, badText, badText, badText, badText},
			SignInMethods{hostile, 0, true, hostile, "/a", "/b", "/c", "/d", 0, true,
				[]IdentityRow{{hostile, hostile, hostile, "/i", true}},
				[]PasskeyRow{{hostile, hostile, hostile, true, true, "/p", "/q"}}},
			SessionList{[]SessionRow{{hostile, hostile, hostile, hostile, false, "/b"}}, "/c"},
			[]OwnedApplication{{hostile, hostile, hostile, "/o/1", false, true, "/o/1/delete/"}}, hostile, "/r", hostile, 30,
			[]FieldError{{ID: "username", Message: hostile}},
			&Glance{true, true, true, hostile, 1, hostile, false, false, 1 << 40},
			Activity{[]ActivityRow{{hostile, hostile, hostile, hostile, hostile, hostile, true, 1 << 30}}}, "/e", "/usable",
			[]TemporaryMembership{{hostile, hostile}}, "/join",
			[]AllowedRow{{hostile, "/o/2", hostile, hostile, "/v"}}, []InvitedBy{{hostile, "/i", "/w", hostile}}}},
		{"groups", Groups{admin, []GroupRow{{"staff", 1, "/g/1"}, {"night shift", 0, "/g/2"}, {long, 1204, "/g/3"}},
			"/admin/groups/", Field{}}},
		{"members-groups", Members{Frame: alice, Groups: []Option{{"/members/staff/", "staff", "", false}}}},
		{"members", Members{Frame: alice, Group: "staff", InviteAction: "/i", Rows: []MemberRow{
			{"bob", "Bob Builder", "/m/1", "2027-01-31", true}, {"carol", "", "/m/2", "", false}}}},
		{"members-empty", Members{Frame: alice, Group: "staff"}},
		{"members-hostile", Members{nasty, []Option{{"/g", hostile, hostile, false}}, hostile,
			[]MemberRow{{hostile, hostile, "/m", hostile, true}}, Pager{}, "/i", badText}},
		{"member", Member{Frame: alice, Row: MemberRow{"bob", "Bob Builder", "", "", true}, Group: "staff", GroupURL: "/g",
			Email: "bob@example.com", LinkAction: "/l", FactorsAction: "/f", ActiveAction: "/d", RemoveAction: "/r"}},
		{"member-refused", Member{Frame: alice, Row: MemberRow{"bob", "", "", "", false}, Group: "staff", GroupURL: "/g",
			Reasons: []string{"This person owns an application. Ask an administrator."}, RemoveAction: "/r"}},
		{"member-hostile", Member{nasty, MemberRow{hostile, hostile, hostile, "", true}, hostile, "/g", hostile,
			[]string{hostile}, "/l", "/f", "/d", "/r"}},
		{"groups-empty", Groups{Frame: admin, Action: "/admin/groups/"}},
		{"groups-wrong", Groups{Frame: admin, Action: "/admin/groups/",
			NameField: Field{"staff", "A group with that name already exists."}}},
		{"groups-hostile", Groups{nasty, []GroupRow{{hostile, 2, "/g"}}, "/admin/groups/", badText}},
	}...)
}

func initialTokenSamples() []sample {
	page := InitialTokens{Frame: admin, Action: "/admin/registration-tokens/",
		RegisterURL: "https://id.example.com/o/register/", Uses: Field{"1", ""},
		Expires: []Option{{"86400", "In a day", "", true}},
		May: []Option{{"authorization_code", "Authorization code", "A person signs in.", true},
			{"introspection", "Introspection", "", false}},
		Scopes: []Option{{"read", "", "Read scope", true}}}
	list := page
	list.NewToken = "mit_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	list.Rows = []InitialTokenRow{{"abc", "the operator", "authorization_code", "", "1 December 2026, 12:00 UTC", "/d", 1,
		true}, {"def", long, "client_credentials, introspection", strings.Repeat("ledger:write ", 30),
		"1 December 2026, 12:00 UTC", "/d", 20, false}}
	wrong := page
	wrong.Uses, wrong.Resources, wrong.MayError, wrong.ScopesError, wrong.ExpiresError = Field{"none", "Use a number."},
		Field{"x", "There is no resource x."}, "Choose at least one.", "Choose at least one.", "Use a time."
	wrong.Errors = []FieldError{{ID: "uses", Message: wrong.Uses.Error}, {ID: "expires", Message: wrong.ExpiresError},
		{ID: "may", Message: wrong.MayError}, {ID: "scopes", Message: wrong.ScopesError},
		{ID: "resources", Message: wrong.Resources.Error}}
	options := []Option{{hostile, hostile, hostile, true}}
	return []sample{
		{"initial-tokens", list},
		{"initial-tokens-empty", page},
		{"initial-tokens-wrong", wrong},
		{"initial-tokens-hostile",
			InitialTokens{nasty, hostile, []InitialTokenRow{{hostile, hostile, hostile, hostile, hostile, "/d", 2, false}}, "/a",
				hostile, badText, badText, options, options, options, hostile, hostile, hostile,
				[]FieldError{{ID: "uses", Message: hostile}}}},
	}
}

func resourceSamples() []sample {
	hard := "https://" + strings.Repeat("subdomain.", 12) + "example.com/" + strings.Repeat("path-", 60)
	list := Resources{Frame: admin, NewURL: "/admin/resources/new/", Pager: Pager{1, 2, 31, "", "?page=2"},
		Rows: []ResourceRow{
			{"Mailbox", "https://mail.example.com/v1", "/admin/resources/change/?uri=1", "", "Opaque"},
			{long, hard, "/admin/resources/change/?uri=2", strings.Repeat("ledger:write ", 30), "JWT, signed with ES256"},
			{"Ledger", "urn:example:ledger", "", "read", "That of the application"},
		}, Configured: true}
	form := ResourceForm{
		Frame: admin, New: true, Action: "/admin/resources/new/", CancelURL: "/admin/resources/",
		Scopes: []Option{{"read", "", "Read scope", true}, {"write", "", "", true}},
		Formats: []Option{{"", "That of the application", "Each application is registered for one.", true},
			{"opaque", "Opaque", "A random string.", false}, {"jwt", "JWT", "Signed.", false}},
		Algorithms: []Option{{"", "That of the application", "", true}, {"ES256", "", "Cheap to sign.", false}},
		Typs:       []Option{{"", "at+jwt", "The type of RFC 9068.", true}, {"JWT", "", "For Spring.", false}},
	}
	change := form
	change.New, change.Action, change.DeleteURL, change.Version = false, "/admin/resources/change/?uri=1",
		"/admin/resources/delete/?uri=1", "3"
	change.NameField, change.URI, change.Lifetime, change.Introspectors = Field{long, ""}, Field{hard, ""},
		Field{"600", ""}, Field{"nightly-import\nYx3vQm8Zr1TtK0pLw5NcBg", ""}
	wrong := form
	wrong.NameField, wrong.URI, wrong.Lifetime = Field{"", "Give it a name."},
		Field{"mail", "The URI must be absolute: begin with https://."}, Field{"soon", "Use a number of seconds."}
	wrong.Introspectors, wrong.ScopesError, wrong.FormatError,
		wrong.AlgorithmError = Field{"nobody", "There is no application with the client id nobody."}, "Choose at least one.",
		"This format is not supported.", "Only tokens in the format jwt are signed."
	wrong.Errors = []FieldError{{ID: "name", Message: wrong.NameField.Error}, {ID: "uri", Message: wrong.URI.Error},
		{ID: "scopes", Message: wrong.ScopesError}, {ID: "token_format", Message: wrong.FormatError},
		{ID: "algorithm", Message: wrong.AlgorithmError},
		{ID: "access_token_lifetime", Message: wrong.Lifetime.Error},
		{ID: "introspectors", Message: wrong.Introspectors.Error}}
	meanwhile := change
	meanwhile.NowURL, meanwhile.NameField.Error = "/admin/resources/change/?uri=1",
		"Somebody changed the resource at the same moment."
	meanwhile.Errors = []FieldError{{ID: "name", Message: meanwhile.NameField.Error},
		{ID: "uri", Message: "The resource is the server itself."}}
	options := []Option{{hostile, hostile, hostile, true}}
	return []sample{
		{"resources", list},
		{"resources-empty", Resources{Frame: admin, NewURL: "/n"}},
		{"resources-nothing-found", Resources{Frame: admin, NewURL: "/n", Query: "zebra"}},
		{"resources-hostile",
			Resources{nasty, []ResourceRow{{hostile, hostile, "/r", hostile, hostile}, {hostile, hostile, "", hostile, hostile}},
				hostile, "/n", Pager{2, 3, 50, "?page=1", "?page=3"}, true}},
		{"resource-form", form},
		{"resource-form-change", change},
		{"resource-form-wrong", wrong},
		{"resource-form-meanwhile", meanwhile},
		{"resource-form-hostile", ResourceForm{nasty, false, "/a", "/c", "/d", hostile, "/now", badText, badText, badText,
			badText, options, options, options, true, hostile, hostile, hostile, options, hostile,
			[]FieldError{{ID: "uri", Message: hostile}}}},
	}
}

// tiles returns what a person can open, with names of any length.
func tiles(n int) []Tile {
	var list []Tile
	for i := range n {
		name := []string{"Company wiki", "Grafana", long, "مكتبة", "Zeiterfassung"}[i%5]
		list = append(list, Tile{name, fmt.Sprintf("https://app%d.example.com/", i), fmt.Sprintf("app%d.example.com", i),
			string([]rune(name)[0]), ""})
	}
	return list
}
