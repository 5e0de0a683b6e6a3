package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// registrations are the clients that checks have registered, and that could not be deleted.
type registrations struct {
	running sync.WaitGroup
	mu      sync.Mutex
	left    []string
}

func (r *registrations) leave(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, text)
}

// LeftBehind waits until no check registers a client, and says which clients of checks stay registered.
func (s *Server) LeftBehind() []string {
	s.registrations.running.Wait()
	s.registrations.mu.Lock()
	defer s.registrations.mu.Unlock()
	return s.registrations.left
}

// Register sends a registration request (RFC 7591 §3.1) that the server should refuse. If the server registers a
// client, it is deleted at once, also after an interrupt.
func (t *T) Register(metadata map[string]any) *wire.Answer { return t.register(metadata, nil) }

// Made is a client that a check has registered, with the answer to its registration.
type Made struct {
	*wire.Answer
	Token   string // its registration access token; an update may replace it (RFC 7592 §2.2)
	Deleted bool   // the check has deleted it
}

// mayRegister skips the check if the target does not allow it to register a client that the server accepts.
func (t *T) mayRegister() {
	if t.server.Target.Register == target.Reuse {
		t.Skipf("the rule registers a further client, which would stay with register: reuse: write register: true into the " +
			"target")
	}
	if t.server.Target.Register == "" {
		t.Skipf("the rule registers a client: write register: true into the target")
	}
}

// bare is the answer to the least that a registration can be.
type bare struct {
	sync.Mutex
	answer *wire.Answer
}

// WithClient registers a client that the server should accept, uses it, and deletes it at the end, also if use ends the
// check. If the target does not allow registrations, the check is skipped. If the server refuses, it is blocked.
func (t *T) WithClient(metadata map[string]any, use func(*Made)) {
	t.mayRegister()
	a := t.register(metadata, use)
	if a.Status/100 != 2 {
		t.Blockedf("the server did not register a client: %s", a.Failure())
	}
}

// Bare returns the answer to a registration request with a name and a redirect URI alone. It asks once in a run. If the
// target does not allow registrations, the check is skipped.
func (t *T) Bare() *wire.Answer {
	t.mayRegister()
	t.server.bare.Lock()
	defer t.server.bare.Unlock()
	if t.server.bare.answer == nil {
		name := t.Random()
		t.server.bare.answer = t.Register(map[string]any{"client_name": "conformance " + name,
			"redirect_uris": []string{"https://client.example/" + name}})
	}
	return t.server.bare.answer
}

func (t *T) register(metadata map[string]any, use func(*Made)) *wire.Answer {
	body, err := json.Marshal(metadata)
	if err != nil {
		t.Blockedf("the client metadata cannot be written: %v", err)
	}
	var as []wire.Auth
	if token := t.server.Target.InitialAccessToken; token != "" {
		as = append(as, wire.Bearer(token))
	}
	endpoint := t.Endpoint(need.Registration)
	left := &t.server.registrations
	left.running.Add(1)
	defer left.running.Done()
	before := t.ctx
	t.ctx = context.WithoutCancel(t.ctx)
	defer func() { t.ctx = before }()

	// stays is reported unless the answer shows that nothing stays.
	stays := fmt.Sprintf("a client with the client_name %q may stay registered: the server did not answer the request "+
		"of the rule %s", metadata["client_name"], t.rule.ID)
	sent := len(t.all)
	defer func() {
		if stays != "" && (t.unanswered || len(t.all) > sent) {
			left.leave(t.mask.Hide(stays))
		}
	}()
	a := t.Send(http.MethodPost, endpoint, string(body), "application/json", as...)
	t.At(a)
	if a.Status/100 != 2 {
		stays = ""
		return a
	}
	t.secrets()
	because := func(reason string) string {
		return fmt.Sprintf("the client %s, which the rule %s registered, stays registered: %s", a.Text("client_id"),
			t.rule.ID, reason)
	}
	address := a.Text("registration_client_uri")
	if address == "" {
		stays = because("the server returned no registration_client_uri, which is needed to delete it")
		return a
	}
	if err := t.server.Manages(address); err != nil {
		stays = because(err.Error())
		return a
	}
	stays = because("the server did not answer the request that deletes it")
	made := &Made{a, a.Text("registration_access_token"), false}
	defer func() {
		if made.Deleted {
			stays = ""
			return
		}
		deleted := t.Send(http.MethodDelete, address, "", "", wire.Bearer(made.Token))
		if deleted.Status/100 != 2 {
			stays = because(deleted.Failure())
			t.Blockedf("the client %s, which the check registered, cannot be deleted: %s", a.Text("client_id"),
				deleted.Failure())
		}
		stays = ""
		t.At(a)
	}()
	if use != nil {
		use(made)
	}
	return a
}
