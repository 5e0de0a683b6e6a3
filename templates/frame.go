package templates

// Frame contains the parts of the layout that change. Every page embeds it.
type Frame struct {
	Title    string // of the document; empty: the page uses its own title
	Username string // the signed-in person; empty if nobody is signed in
	OnlyUses bool   // the person may not register applications, so the navigation has none
	Admin    bool   // shows the administrators' part of the navigation
	ReadOnly bool   // the reader may change nothing of what administrators see
	Delegate bool   // shows the page of those who administer groups in the navigation
	Notice   string // a message of success, shown once at the top
}

// Field is a text control of a form: its value and its error.
type Field struct{ Value, Error string }

// FieldError is one line of the error summary above a form. ID is the name of the field, which is also
// the id of its control or fieldset, or "" if the page has no such field.
type FieldError struct {
	ID, Message string
	Name        string // of the field, for the line, unless FieldName has it
}

// Option is one radio button or checkbox of a group.
type Option struct {
	Value, Label, Help string
	Checked            bool
}

// Pager says which part of a long list is shown. An empty URL means that there is no such page.
type Pager struct {
	Page, Pages, Total int
	PrevURL, NextURL   string
}
