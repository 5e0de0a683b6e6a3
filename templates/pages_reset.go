package templates

// Forgot asks for the account whose password is forgotten.
type Forgot struct {
	Frame
	Action   string
	LoginURL string
	Name     Field
	Error    string // about the attempt as a whole: too many attempts
	NoMail   bool   // the server sends no mail, so an administrator has to help
}

// Reset sets a new password. The link to it works once.
type Reset struct {
	Frame
	Action       string
	Account      string // the username
	Password     Field
	PasswordHint string // how long a new password must be, and what makes a good one
	Error        string // about the attempt as a whole: too many attempts
}
