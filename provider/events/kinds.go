package events

// Kind says what has happened.
type Kind string

// The kinds of events. Add one here and to the table below.
const (
	SignIn       Kind = "sign-in"
	SignInFailed Kind = "sign-in.failed"
	FactorFailed Kind = "factor.failed"
	Strengthened Kind = "session.strengthened"
	SignOut      Kind = "sign-out"
	SessionEnded Kind = "session.ended"
	AllEnded     Kind = "sessions.ended"

	PasswordChanged Kind = "password.changed"
	PasswordReset   Kind = "password.reset"
	PasswordFailed  Kind = "password.failed"
	PasswordLink    Kind = "password.link"

	FactorAdded   Kind = "factor.added"
	FactorRenamed Kind = "factor.renamed"
	FactorRemoved Kind = "factor.removed"
	FactorsReset  Kind = "factors.reset"
	CodesMade     Kind = "recovery-codes.made"
	CodeUsed      Kind = "recovery-code.used"

	PersonAdded       Kind = "person.added"
	PersonChanged     Kind = "person.changed"
	PersonPromoted    Kind = "person.promoted"
	PersonDemoted     Kind = "person.demoted"
	AuditorAdded      Kind = "auditor.added"
	AuditorRemoved    Kind = "auditor.removed"
	DelegateAdded     Kind = "delegate.added"
	DelegateRemoved   Kind = "delegate.removed"
	PersonDisabled    Kind = "person.disabled"
	PersonEnabled     Kind = "person.enabled"
	PersonDeleted     Kind = "person.deleted"
	AddressLink       Kind = "address.link"
	AddressVerified   Kind = "address.verified"
	InvitationAdded   Kind = "invitation.added"
	InvitationRenewed Kind = "invitation.renewed"
	InvitationEnded   Kind = "invitation.withdrawn"
	GroupAdded        Kind = "group.added"
	GroupRenamed      Kind = "group.renamed"
	GroupDeleted      Kind = "group.deleted"
	MembershipEnded   Kind = "membership.ended"

	ConsentGiven   Kind = "consent.given"
	ConsentDenied  Kind = "consent.denied"
	ConsentRevoked Kind = "consent.revoked"
	DeviceApproved Kind = "device.approved"
	DeviceDenied   Kind = "device.denied"

	ApplicationAdded    Kind = "application.added"
	ApplicationChanged  Kind = "application.changed"
	ApplicationAssigned Kind = "application.assigned"
	ApplicationRevoked  Kind = "application.revoked"
	ApplicationDeleted  Kind = "application.deleted"
	SecretRotated       Kind = "secret.rotated"
	TokenReused         Kind = "token.reused"
	TokenRepeated       Kind = "token.repeated"
	TokenRevoked        Kind = "token.revoked"
	RequestRefused      Kind = "request.refused"

	ResourceAdded            Kind = "resource.added"
	ResourceChanged          Kind = "resource.changed"
	ResourceDeleted          Kind = "resource.deleted"
	RegistrationTokenAdded   Kind = "registration-token.added"
	RegistrationTokenDeleted Kind = "registration-token.deleted"
	KeyAdded                 Kind = "key.added"
	KeyRetired               Kind = "key.retired"
	EventsExported           Kind = "events.exported"
)

// Description says what a kind means, for the documentation and for pages.
type Description struct {
	Kind    Kind
	Meaning string
	Note    string // more, for the documentation
	Object  string // what the object is
	Detail  string // what the detail says
}

// kinds describes every kind, in the order of the documentation.
var kinds = [...]Description{
	{SignIn, "A person has signed in.", "", "the session", "the methods (`amr`)"},
	{SignInFailed, "A sign-in was refused.", "The person is empty if there is none with that name. Counted.",
		"the application, if it sent the password", "`password`, `limit` (too many guesses at the account, under another " +
			"name or from other networks), `disabled` (the password was right), `passkey` or `server` (another server), and " +
			"after it the [condition](sign-in.md#when-it-does-not-work) that failed"},
	{FactorFailed, "A second factor was refused, after the right password, after a sign-in at another server, or in a " +
		"session.", "Counted.", "the account of the other server, if the sign-in began there",
		"`totp`, `new-totp`, `recovery` or `passkey`"},
	{Strengthened, "A person who is signed in has used another factor.", "", "the session", "the methods (`amr`)"},
	{SignOut, "A person has signed out.", "If the server of an application has ended the session, the application is " +
		"the actor.", "the application that asked for it, if one did", ""},
	{SessionEnded, "One session of a person was ended from elsewhere.", "", "the session", "`limit`: there were too many"},
	{AllEnded, "All sessions of a person were ended.", "", "", ""},
	{PasswordChanged, "A person has changed the password, and knew the former one.", "", "", ""},
	{PasswordReset, "A password was replaced without the former one.", "", "", "`link`, if the person did it with a link"},
	{PasswordFailed, "Somebody wanted to change a password, and did not know the current one.", "Counted.", "", ""},
	{PasswordLink, "A link was made that sets a new password.", "", "", "`mail`, if somebody asked for it on the page"},
	{FactorAdded, "A way to sign in was added: an authenticator app, a passkey or an account of another server.", "", "it",
		"`address`, if the confirmed address has linked the account"},
	{FactorRenamed, "A passkey got another name.", "", "the passkey, with the new name", ""},
	{FactorRemoved, "A way to sign in was removed.", "", "it",
		"`may-return`, if the address may link an account of that server again"},
	{FactorsReset, "All second factors and passkeys of a person were removed, also the accounts of other servers if " +
		"there is a password. The sessions were ended.", "", "", ""},
	{CodesMade, "New recovery codes replace the former ones.", "", "", ""},
	{CodeUsed, "A recovery code was used.", "", "", ""},
	{PersonAdded, "A person was added.", "", "", "`first` (the first administrator), `invitation`, `sign-up` (the " +
		"person asked for it), `server` (another server) or `import`"},
	{PersonChanged, "The account of a person was changed.", "", "", "the fields, without their values"},
	{PersonPromoted, "A person has become an administrator.", "", "", ""},
	{PersonDemoted, "A person is no administrator any more.", "", "", ""},
	{AuditorAdded, "A person has become an auditor.", "", "", ""},
	{AuditorRemoved, "A person is no auditor any more.", "", "", ""},
	{DelegateAdded, "A person administers a group.", "", "the group", ""},
	{DelegateRemoved, "A person does not administer a group any more.", "", "the group", ""},
	{PersonDisabled, "An account was disabled.", "", "", ""},
	{PersonEnabled, "An account was enabled.", "", "", ""},
	{PersonDeleted, "A person was deleted.", "", "", "what happens to the applications: `delete` or `take-over`"},
	{AddressLink, "A person has asked for a link that confirms the email address.", "", "",
		"`new`, if the account gets the address by it"},
	{AddressVerified, "A person has confirmed the email address.", "", "", ""},
	{InvitationAdded, "A person was invited.", "", "the invitation, with the address", ""},
	{InvitationRenewed, "An invitation got a new link.", "", "the invitation, with the address", ""},
	{InvitationEnded, "An invitation was withdrawn.", "", "the invitation, with the address", ""},
	{GroupAdded, "A group was added.", "", "the group", ""},
	{GroupRenamed, "A group got another name.", "", "the group, with the new name", "the former name"},
	{GroupDeleted, "A group was deleted.", "", "the group", ""},
	{MembershipEnded, "A membership that had an end is over.", "", "the group", ""},
	{ConsentGiven, "A person has allowed an application something.", "", "the application", "the scopes"},
	{ConsentDenied, "A person has not allowed an application what it asked for.", "", "the application", ""},
	{ConsentRevoked, "A person has revoked what an application was allowed.", "", "the application", ""},
	{DeviceApproved, "A person has allowed a device something.", "", "the application", "the scopes"},
	{DeviceDenied, "A person has not allowed a device what it asked for.", "", "the application", ""},
	{ApplicationAdded, "An application was registered.", "", "the application",
		"`page`, `command`, `registration` or `document`"},
	{ApplicationChanged, "An application was changed.", "", "the application", "the fields, without their values"},
	{ApplicationAssigned, "Somebody else is responsible for an application.", "", "the application",
		"the new owner, or `operator`"},
	{ApplicationRevoked, "Everything that an application held was revoked.", "", "the application", ""},
	{ApplicationDeleted, "An application was deleted.", "", "the application", "`unused`, if the clean-up did it"},
	{SecretRotated, "An application got a new client secret.", "", "the application", ""},
	{TokenReused, "A refresh token or a code was used a second time, and its token family was revoked.", "Counted.",
		"the application", "`refresh` or `code`"},
	{TokenRepeated, "A refresh token was used twice within the grace period, and both requests got the same new tokens.",
		"This is usual: two requests of the application have met, or an answer was lost. Counted.", "the application",
		"`refresh`"},
	{TokenRevoked, "The operator has revoked a token and its family.", "", "the application", ""},
	{RequestRefused, "A request was refused.", "Counted, by day.",
		"the application, if the request names one that is stored", "the endpoint (`authorize`, `token`, `par`, " +
			"`device_authorization` or `register`) and the error; with an application also the description, with `…` for what " +
			"the sender has sent. `other`: those beyond the [limit](#refused-requests)"},
	{ResourceAdded, "A resource was added.", "", "the resource", ""},
	{ResourceChanged, "A resource was changed.", "", "the resource", "the fields, without their values"},
	{ResourceDeleted, "A resource was deleted.", "", "the resource", ""},
	{RegistrationTokenAdded, "An initial access token was made.", "", "the token's ID", ""},
	{RegistrationTokenDeleted, "An initial access token was deleted.", "", "the token's ID", ""},
	{KeyAdded, "A signing key was added.", "", "the key ID", "`RSA`, `EC` or `OKP`"},
	{KeyRetired, "A signing key was removed.", "", "the key ID", ""},
	{EventsExported, "An administrator has exported the event log.", "", "",
		"the fields by which the export was filtered"},
}

// Kinds returns the descriptions of all kinds.
func Kinds() []Description { return kinds[:] }

// Known reports whether there is a kind of this name.
func Known(name string) bool {
	for _, d := range kinds {
		if string(d.Kind) == name {
			return true
		}
	}
	return false
}
