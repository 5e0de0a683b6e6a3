package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// register registers the clients that the target lacks (RFC 7591 §3.1). If the server refuses one of them, for
// example because of its grant type, the checks that need it are skipped. If the server refuses all of them, this is
// an error.
func (r *Runner) register(ctx context.Context) error {
	address := r.Endpoint(need.Registration)
	if address == "" {
		return errors.New("the target contains register, but the metadata of the server has no registration_endpoint")
	}
	var refused error
	for _, role := range need.Roles() {
		if r.Target.Clients[role.Name] != nil || !role.Registrable() || role.Backchannel && r.Target.Backchannel == "" {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// If the request were cancelled, a client could remain that nobody knows of.
		c, err := r.registerOne(context.WithoutCancel(ctx), address, role)
		if err != nil {
			refused = fmt.Errorf("register the client %s: %w", role.Name, err)
			r.Refusals[role.Name] = err
			continue
		}
		r.Target.Clients[role.Name] = c
		r.made = append(r.made, c)
	}
	if len(r.made) == 0 {
		return refused
	}
	return nil
}

// secretMethod returns the method of client authentication: HTTP Basic, unless the server lists only
// client_secret_post (RFC 8414 §2).
func secretMethod(s *check.Server) string {
	listed, _ := s.Metadata["token_endpoint_auth_methods_supported"].([]any)
	if slices.Contains(listed, any(need.SecretPost)) && !slices.Contains(listed, any(need.SecretBasic)) {
		return need.SecretPost
	}
	return need.SecretBasic
}

func (r *Runner) registerOne(ctx context.Context, address string, role need.Role) (*target.Client, error) {
	metadata := role.Metadata(secretMethod(r.Server), r.Target.Backchannel)
	if r.Target.Scope != "" {
		metadata["scope"] = r.Target.Scope
	}
	body, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if r.Target.InitialAccessToken != "" {
		request.Header.Set("Authorization", "Bearer "+r.Target.InitialAccessToken)
	}
	a, err := r.Send(ctx, request)
	if err != nil {
		return nil, err
	}
	if a.Status/100 != 2 || a.Text("client_id") == "" {
		return nil, errors.New(wire.Printable(a.Failure()))
	}
	c := target.NewClient(role, a.Text("client_id"), a.Text("client_secret"))
	c.Auth, _ = metadata["token_endpoint_auth_method"].(string)
	if given := a.Text("token_endpoint_auth_method"); given != "" {
		c.Auth = given
	}
	c.Configuration, c.RegistrationAT = a.Text("registration_client_uri"), a.Text("registration_access_token")
	return c, nil
}

// Close deletes the clients that were registered (RFC 7592 §2.3). It also tries if the server has stopped answering
// before.
func (r *Runner) Close(ctx context.Context) error {
	var all error
	r.Reset()
	for _, c := range r.made {
		err := r.remove(ctx, c)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("the client %s (%s) stays registered: %w", c.ID, c.Role, err))
		}
	}
	r.made = nil
	return errors.Join(all, r.StopListener())
}

func (r *Runner) remove(ctx context.Context, c *target.Client) error {
	if c.Configuration == "" {
		return errors.New("the server returned no registration_client_uri, which is needed to delete it")
	}
	request, err := http.NewRequest(http.MethodDelete, c.Configuration, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.RegistrationAT)
	a, err := r.Send(ctx, request)
	if err != nil {
		return err
	}
	if a.Status/100 != 2 {
		return errors.New(wire.Printable(a.Failure()))
	}
	return nil
}
