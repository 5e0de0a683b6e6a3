package templates

// RegistrationTokens lists the initial access tokens and makes one. It is for administrators.
type RegistrationTokens struct {
	Frame
	NewToken                            string // the token that was just made; shown once
	Rows                                []RegistrationTokenRow
	Action, RegisterURL                 string
	Uses, Resources                     Field
	Expires, May, Scopes                []Option
	ExpiresError, MayError, ScopesError string
	Errors                              []FieldError
}

// RegistrationTokenRow is one row of RegistrationTokens. No scopes means those that an
// application without a token may have.
type RegistrationTokenRow struct {
	ID, MadeBy, May, Scopes, Until, DeleteURL string
	UsesLeft                                  int64
	Works                                     bool
}
