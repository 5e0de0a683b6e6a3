package templates

// Factor asks for a second factor: after the password, or in a session that is too weak.
type Factor struct {
	Frame
	Action, Next, Wanted     string // Next and Wanted are hidden fields
	Account                  string // the username of the person who signs in
	StepUp                   bool   // the person is signed in
	Code                     bool   // the person has an authenticator app
	Recovery                 bool   // there are recovery codes
	CodeError, RecoveryError string
	SwitchURL                string    // signs in with another account
	Passkey                  *Ceremony // nil: the person has no passkey
	PasskeyError             string
}

// NewTOTP shows the secret of a new authenticator app, and asks for the first code.
type NewTOTP struct {
	Frame
	Action, Next, Wanted string
	Account              string
	Required             bool   // the person cannot go on without it
	Picture              string // the QR code, as a data: URL
	URI                  string // what it contains: a phone opens its app for it
	Secret               string // in groups, for a person who types it
	Sealed               string // hidden field: the same secret
	CodeError            string
	CancelURL, SwitchURL string // CancelURL is for a person who need not add it, SwitchURL for one who must
}

// RecoveryCodes shows new recovery codes once. Without codes it offers to make some.
type RecoveryCodes struct {
	Frame
	Codes      []string
	Left       int // the codes that can still be used
	Action     string
	AccountURL string
}

// SignInMethods says how a person signs in. It is a part of Account and UserForm.
type SignInMethods struct {
	TOTPSince                           string // when the authenticator app was added; empty: there is none
	Codes                               int    // the recovery codes that can still be used
	Demanded                            bool   // the server requires a second factor, and there is none
	Due                                 string // when it is required at the latest; may be empty
	AddTOTPURL, RemoveTOTPURL, CodesURL string
	ResetURL                            string // for administrators
	Passkeys                            int
	NoPassword                          bool
	Accounts                            []IdentityRow // of other servers, for administrators
	Keys                                []PasskeyRow  // likewise
}
