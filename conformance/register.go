package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// registrations are the clients that a server with dynamic registration can be asked for. Nothing has to
// answer at their redirect URIs: the browser of the checks stops before it goes there.
var registrations = map[Need]map[string]any{
	NeedCode:    codeClient("code", clientSecretBasic, "https://client.example/code"),
	NeedSecond:  codeClient("second", clientSecretBasic, "https://client.example/second"),
	NeedPublic:  codeClient("public", noAuthentication, "https://client.example/public"),
	NeedSeveral: codeClient("several", clientSecretBasic, "https://client.example/one", "https://client.example/two?tenant=7"),
	NeedLoopback: with(codeClient("loopback", noAuthentication, "http://127.0.0.1/loopback"),
		"application_type", "native"),
	NeedScheme: with(codeClient("scheme", noAuthentication, "com.example.conformance:/callback"),
		"application_type", "native"),
	NeedHS256:     with(codeClient("hs256", clientSecretBasic, "https://client.example/hs256"), "id_token_signed_response_alg", "HS256"),
	NeedSigned:    with(codeClient("signed", clientSecretBasic, "https://client.example/signed"), "userinfo_signed_response_alg", "RS256"),
	NeedPairwise:  with(codeClient("pairwise", clientSecretBasic, "https://other.example/pairwise"), "subject_type", "pairwise"),
	NeedElsewhere: with(codeClient("elsewhere", clientSecretBasic, "https://elsewhere.example/pairwise"), "subject_type", "pairwise"),
	NeedLogout: with(codeClient("logout", clientSecretBasic, "https://client.example/logout"),
		"post_logout_redirect_uris", []string{"https://client.example/bye"}),
	NeedBackchannel: with(codeClient("backchannel", clientSecretBasic, "https://client.example/backchannel"),
		"backchannel_logout_session_required", true),
	NeedMachine: {
		"client_name": "conformance machine", "grant_types": []string{"client_credentials"},
		"response_types": []string{}, "token_endpoint_auth_method": clientSecretBasic,
	},
}

func codeClient(name, auth string, uris ...string) map[string]any {
	return map[string]any{
		"client_name": "conformance " + name, "redirect_uris": uris, "token_endpoint_auth_method": auth,
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
}

func with(metadata map[string]any, name string, value any) map[string]any {
	metadata[name] = value
	return metadata
}

// register makes the clients that the target does not have (RFC 7591 §3.1). A server that refuses one, such
// as a grant type that it does not have, has its checks skipped; one that refuses all is an error.
func (r *Runner) register(ctx context.Context) error {
	address := r.endpoint(NeedRegistration)
	if address == "" {
		return errors.New("the target says register, and the server names no registration_endpoint")
	}
	var refused error
	for _, role := range slices.Sorted(maps.Keys(registrations)) {
		if r.Target.Clients[role] != nil || role == NeedBackchannel && r.Target.Backchannel == "" {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// An answer that nobody waits for would leave a client behind that nobody knows.
		c, err := r.registerOne(context.WithoutCancel(ctx), address, role)
		if err != nil {
			refused = fmt.Errorf("register the client %s: %w", role, err)
			continue
		}
		r.Target.Clients[role] = c
		r.made = append(r.made, c)
	}
	if len(r.made) == 0 {
		return refused
	}
	return nil
}

func (r *Runner) registerOne(ctx context.Context, address string, role Need) (*Client, error) {
	metadata := maps.Clone(registrations[role])
	if r.Target.Scope != "" {
		metadata["scope"] = r.Target.Scope
	}
	if role == NeedBackchannel {
		metadata["backchannel_logout_uri"] = "http://" + r.Target.Backchannel + "/logout"
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
	a, err := r.network.do(ctx, request)
	if err != nil {
		return nil, err
	}
	if a.Status/100 != 2 || a.Text("client_id") == "" {
		return nil, errors.New(printable(a.failure()))
	}
	auth := a.Text("token_endpoint_auth_method")
	if auth == "" {
		auth, _ = metadata["token_endpoint_auth_method"].(string)
	}
	uris, _ := metadata["redirect_uris"].([]string)
	afterwards, _ := metadata["post_logout_redirect_uris"].([]string)
	return &Client{ID: a.Text("client_id"), Secret: a.Text("client_secret"), Auth: auth, RedirectURIs: uris, PostLogoutRedirectURIs: afterwards, role: role,
		configuration: a.Text("registration_client_uri"), registrationAT: a.Text("registration_access_token")}, nil
}

// Close removes the clients that were registered (RFC 7592 §2.3).
func (r *Runner) Close(ctx context.Context) error {
	var all error
	for _, c := range r.made {
		err := r.remove(ctx, c)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("the client %s (%s) stays registered: %w", c.ID, c.role, err))
		}
	}
	r.made = nil
	return errors.Join(all, r.listens.close())
}

func (r *Runner) remove(ctx context.Context, c *Client) error {
	if c.configuration == "" {
		return errors.New("the server gave no address at which it can be removed")
	}
	request, err := http.NewRequest(http.MethodDelete, c.configuration, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.registrationAT)
	a, err := r.network.do(ctx, request)
	if err != nil {
		return err
	}
	if a.Status/100 != 2 {
		return errors.New(printable(a.failure()))
	}
	return nil
}
