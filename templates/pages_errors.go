package templates

// Errors lists the error codes that the server sends.
type Errors struct {
	Frame
	Codes    []ErrorCodeRow
	Messages []MessageRow
}

// MessageRow is what a program in front of this server says, in English.
type MessageRow struct{ Says, Means, Cure []Span }

// Span is a part of a text. Code is what a program or a person writes.
type Span struct {
	Text string
	Code bool
}

// ErrorCodeRow is one code of the list.
type ErrorCodeRow struct{ Name, Cause, URL string }

// ErrorCode explains an error code. error_uri leads to it.
type ErrorCode struct {
	Frame
	Name, Cause, Cure string
	Source            string // the clauses that define it
	Cases             []ErrorCase
	AllURL            string
}

// ErrorCase is a description that has a cure of its own. ID is its anchor.
type ErrorCase struct{ ID, Words, Cure string }
