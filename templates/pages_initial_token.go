package templates

// InitialTokens lists the initial access tokens and makes one. It is for administrators.
type InitialTokens struct {
	Frame
	NewToken                            string // the token that was just made; shown once
	Rows                                []InitialTokenRow
	Action, RegisterURL                 string
	Uses, Resources                     Field
	Expires, May, Scopes                []Option
	ExpiresError, MayError, ScopesError string
	Errors                              []FieldError
}

// InitialTokenRow is one row of InitialTokens. No scopes means those that an
// application without a token may have.
type InitialTokenRow struct {
	ID, MadeBy, May, Scopes, Until, DeleteURL string
	UsesLeft                                  int64
	Works                                     bool
}
