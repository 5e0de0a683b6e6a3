// Package errorsx has what fosite calls of the package of that name in github.com/ory/x, which go.mod replaces by this
// module. docs/decisions.md says why.
package errorsx

import "github.com/pkg/errors"

// fosite states that its error has these methods.
type (
	DebugCarrier      interface{ Debug() string }
	ReasonCarrier     interface{ Reason() string }
	RequestIDCarrier  interface{ RequestID() string }
	StatusCarrier     interface{ Status() string }
	StatusCodeCarrier interface{ StatusCode() int }
)

// WithStack returns an error with the stack of its caller. An error that has one stays as it is.
func WithStack(err error) error {
	has, ok := err.(interface{ StackTrace() errors.StackTrace })
	if ok && len(has.StackTrace()) > 0 {
		return err
	}
	return errors.WithStack(err)
}

// Cause returns the innermost error that the methods Cause lead to.
func Cause(err error) error {
	for {
		has, ok := err.(interface{ Cause() error })
		if !ok || has.Cause() == nil {
			return err
		}
		err = has.Cause()
	}
}
