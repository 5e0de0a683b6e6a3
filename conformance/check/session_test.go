package check

import (
	"strings"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/target"
)

// A defect of the walk that tries the password is reported as a bug of the check, and not taken for a server that does
// not answer.
func TestPasswordWalkWithADefect(t *testing.T) {
	of := &target.Target{User: target.User{Username: "alice", Password: "open sesame"},
		Endpoints: map[string]string{string(need.Authorization): "https://as.example/authorize"},
		Clients: map[need.Need]*target.Client{
			need.Code: {ID: "client", RedirectURIs: []string{"https://client.example/code"}}}}
	s := NewServer(of, nil) // without a network the walk panics
	result := s.Check(t.Context(), Rule{ID: "TEST/1/sign-in", Level: Must, Check: func(t *T) { t.tryPassword() }})
	if result.Status != Broken || !strings.Contains(result.Reason, "nil pointer") {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
}
