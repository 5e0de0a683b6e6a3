package templates

// AskSignUp asks somebody who wants an account for an email address.
type AskSignUp struct {
	Frame
	Action, LoginURL string
	Next             string // hidden field: where the person goes on
	Email            Field
	Domains          string // the only domains of the address, as a list; empty: there is no limit
	Error            string // about the attempt as a whole: too many attempts
}

// AskedSignUp says where to look after somebody has asked for an account. It says nothing about the address.
type AskedSignUp struct {
	Frame
	Hours              int    // for which the link works
	AgainURL, LoginURL string // AgainURL asks for an address again
}

// SignUp makes an account. The link to it works once.
type SignUp struct {
	Frame
	Action, Email                      string
	Own                                bool // the account can be made here, and not only with another server
	UsernameField, FirstName, LastName Field
	Password                           Field
	PasswordHint                       string // how long a new password must be, and what makes a good one
	Error                              string // about the attempt as a whole
	Passkeys                           bool   // the person may use a passkey in place of a password
	Next                               string // hidden field for the other servers
	Servers                            []ServerButton
}

// SignUpPasskey asks the browser for the passkey of a new account.
type SignUpPasskey struct {
	Frame
	Username string
	Request  Ceremony
	BackURL  string
}

// Invitations lists the invitations that nobody has used, and those that have expired for a while. It is for
// administrators.
type Invitations struct {
	Frame
	Query                    string
	Rows                     []InvitationRow
	Pager                    Pager
	NewURL, ListURL, BackURL string
	Off                      bool // nobody can use an invitation
}

// InvitationRow is one row of Invitations.
type InvitationRow struct {
	Email, URL             string
	Groups, Inviter, Until string // Inviter is empty for the operator
	ByHand                 bool   // the inviter passes the link on
	Waiting, Unsent        bool   // the message with the link was not sent yet, or could not be sent
	Expired                bool
}

// Invitation shows an invitation. It is for administrators.
type Invitation struct {
	Frame
	InvitationRow
	Since, Life                         string // Life is for how long a new link works
	Mails                               bool   // the server sends mail
	RenewAction, WithdrawURL, CancelURL string
	Errors                              []FieldError
}

// Invite invites one person, or all people of a list. It is for administrators.
type Invite struct {
	Frame
	Several           bool // a list
	Action, CancelURL string
	Other             string // the page for a list, or for one person
	Recipient, List   Field
	Groups, Expires   []Option
	Languages         []Option // of the message
	GroupError        string
	ExpiresError      string
	LanguageError     string
	Mails             bool // the server sends mail
	ByHand            bool // but not to these people
	Most              int  // people in a list
	Errors            []FieldError
}

// Invited shows the links of people who were invited and get no message. They are shown once.
type Invited struct {
	Frame
	Rows    []InvitedRow
	All     string // the rows as CSV
	BackURL string
}

// InvitedRow is one row of Invited.
type InvitedRow struct{ Email, Link string }
