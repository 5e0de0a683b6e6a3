package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/framework"
	"mandate/provider/grant"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
)

// The tests in this file check the behavior of fosite on which this server relies. They fail
// if a new version of fosite behaves differently.

func TestStateIsFositesLastCheck(t *testing.T) {
	f := begin(t)
	app := f.app()
	try := func(pairs ...string) (fosite.AuthorizeRequester, error) {
		return f.Authorizations.Framework().NewAuthorizeRequest(t.Context(), &http.Request{
			Method: http.MethodGet,
			URL:    &url.URL{},
			Header: http.Header{},
			Form:   f.query(app, pairs...),
		})
	}
	t.Run("whatever else is wrong is said before the state", func(t *testing.T) {
		for name, form := range map[string][]string{
			"client":                {"client_id", "unknown"},
			"redirect URI":          {"redirect_uri", "https://evil.example/"},
			"scope":                 {"scope", "unknown"},
			"registration":          {"registration", "x"},
			"response type":         {"response_type", "token"},
			"no response type":      {"response_type", "-"},
			"response mode":         {"response_mode", "form_post"},
			"unknown response mode": {"response_mode", "x"},
			"request object":        {"scope", "openid", "request", "x"},
		} {
			_, err := try(form...)
			if err == nil || errors.Is(err, fosite.ErrInvalidState) {
				t.Errorf("%s: %v", name, err)
			}
			_, err = try(append(form, "state", "a long enough state")...)
			if err == nil || errors.Is(err, fosite.ErrInvalidState) {
				t.Errorf("%s, with state: %v", name, err)
			}
		}
	})
	t.Run("a request without state is complete", func(t *testing.T) {
		without, err := try("scope", "read write")
		if !errors.Is(err, fosite.ErrInvalidState) {
			t.Fatal(err)
		}
		one, err := try("scope", "read write", "state", "x")
		if err != nil {
			t.Fatal("one character is enough:", err)
		}
		for _, r := range []fosite.AuthorizeRequester{without, one} {
			got := []any{
				r.GetClient().GetID(),
				r.GetRedirectURI().String(),
				[]string(r.GetRequestedScopes()),
				[]string(r.GetResponseTypes()),
				r.IsRedirectURIValid(),
				r.GetResponseMode(),
			}
			want := []any{
				app.Application.ClientID,
				callback,
				[]string{"read", "write"},
				[]string{"code"},
				true,
				fosite.ResponseModeQuery,
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		}
	})
}

func TestSanitationKeepsTheRedirectURI(t *testing.T) {
	f := begin(t)
	list := framework.ConfigOf(f.Authorizations.Framework()).SanitationWhiteList
	if !slices.Contains(list, "redirect_uri") || !slices.Contains(list, "code_challenge") {
		t.Fatal(list)
	}
	app, s := f.app(), f.login("alice")
	stored := func() (string, string) {
		grant, err := f.store.GrantByCode(t.Context(), seal.Digest(f.code(app, s)), time.Now().Unix())
		if err != nil {
			t.Fatal(err)
		}
		return grant.RedirectURI, grant.CodeChallenge
	}
	uri, sum := stored()
	if uri != callback || sum != challenge {
		t.Errorf("a code is stored with %q and %q", uri, sum)
	}
	// A parameter that is not in this list does not reach the storage.
	framework.ConfigOf(f.Authorizations.Framework()).SanitationWhiteList = []string{"code"}
	uri, sum = stored()
	if uri != "" || sum != "" {
		t.Errorf("the list does nothing: %q and %q", uri, sum)
	}
}

// errUnused is returned by the methods of recorder that fosite must not call.
var errUnused = errors.New("fosite called a method that this server does not implement")

// recorder records which methods of its storage fosite calls.
type recorder struct {
	oauth2.CoreStorage
	clients fosite.ClientManager
	calls   []string
}

func (r *recorder) note(name string) { r.calls = append(r.calls, name) }

func (r *recorder) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	r.note("GetClient")
	return r.clients.GetClient(ctx, id)
}

func (r *recorder) ClientAssertionJWTValid(context.Context, string) error {
	r.note("ClientAssertionJWTValid")
	return errUnused
}

func (r *recorder) SetClientAssertionJWT(context.Context, string, time.Time) error {
	r.note("SetClientAssertionJWT")
	return errUnused
}

func (r *recorder) CreateAuthorizeCodeSession(ctx context.Context, code string, request fosite.Requester) error {
	r.note("CreateAuthorizeCodeSession")
	return r.CoreStorage.CreateAuthorizeCodeSession(ctx, code, request)
}

func (r *recorder) GetAuthorizeCodeSession(context.Context, string, fosite.Session) (fosite.Requester, error) {
	r.note("GetAuthorizeCodeSession")
	return nil, errUnused
}

func (r *recorder) InvalidateAuthorizeCodeSession(context.Context, string) error {
	r.note("InvalidateAuthorizeCodeSession")
	return errUnused
}

// accessRecorder records the calls for access tokens.
type accessRecorder struct {
	oauth2.AccessTokenStorage
	*recorder
}

func (r accessRecorder) CreateAccessTokenSession(
	ctx context.Context,
	signature string,
	request fosite.Requester,
) error {
	r.note("CreateAccessTokenSession")
	return r.AccessTokenStorage.CreateAccessTokenSession(ctx, signature, request)
}

func (r accessRecorder) GetAccessTokenSession(context.Context, string, fosite.Session) (fosite.Requester, error) {
	r.note("GetAccessTokenSession")
	return nil, errUnused
}

func (r accessRecorder) DeleteAccessTokenSession(context.Context, string) error {
	r.note("DeleteAccessTokenSession")
	return errUnused
}

func TestFositeCallsOnlyWhatItWasGiven(t *testing.T) {
	f := begin(t)
	app, s := f.app(introspects), f.login("alice")
	endpoint, issuer := f.Authorizations.Framework(), f.Grants.Framework()
	authorize := framework.ConfigOf(endpoint).AuthorizeEndpointHandlers[0].(*oauth2.AuthorizeExplicitGrantHandler)
	client := f.Grants.ClientCredentials()
	seen := &recorder{CoreStorage: authorize.CoreStorage, clients: endpoint.Store}
	authorize.CoreStorage, endpoint.Store, issuer.Store = seen, seen, seen
	client.AccessTokenStorage = accessRecorder{client.AccessTokenStorage, seen}
	var code string
	var answer *tokens.TokenResponse
	for _, test := range []struct {
		name string
		run  func() error
		want []string
	}{
		{
			"authorize",
			func() error { code = f.code(app, s); return nil },
			[]string{"GetClient", "CreateAuthorizeCodeSession"},
		},
		{"code", func() (err error) { answer, err = f.exchange(app, code); return err }, nil},
		{"code again", func() error { _, err := f.exchange(app, code); return reversed(err) }, nil},
		{
			"code flow",
			func() error { answer = f.tokens(app, s); return nil },
			[]string{"GetClient", "CreateAuthorizeCodeSession"},
		},
		{"refresh", func() error { _, err := f.refresh(app, answer.RefreshToken); return err }, nil},
		{"refresh again", func() error { _, err := f.refresh(app, answer.RefreshToken); return reversed(err) }, nil},
		{
			"client credentials",
			func() (err error) { answer, err = f.token(app, "grant_type", policy.GrantClient); return err },
			[]string{"CreateAccessTokenSession"},
		},
		{"password", func() error {
			_, err := f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
			return err
		}, nil},
		{"introspection", func() error {
			_, _, err := f.Tokens.Introspect(t.Context(), by(app, "token", answer.AccessToken), "")
			return err
		}, nil},
		{"revocation", func() error {
			_, err := f.Tokens.Revoke(t.Context(), by(app, "token", answer.AccessToken), "")
			return err
		}, nil},
		{"an assertion", func() error {
			_, err := f.token(app, "grant_type", policy.GrantClient, "client_assertion", "x")
			return reversed(err)
		}, nil},
	} {
		seen.calls = nil
		err := test.run()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if d := cmp.Diff(test.want, seen.calls); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
	}
}

func reversed(err error) error {
	if err == nil {
		return errors.New("it worked")
	}
	return nil
}

func TestHandlersAreListedByHand(t *testing.T) {
	f := begin(t)
	for endpoint, want := range map[*fosite.Fosite][]string{
		f.Authorizations.Framework(): {"authorize *oauth2.AuthorizeExplicitGrantHandler"},
		f.Grants.Framework():         {"token grant.adapter"},
	} {
		config := framework.ConfigOf(endpoint)
		var got []string
		for _, h := range config.AuthorizeEndpointHandlers {
			got = append(got, fmt.Sprintf("authorize %T", h))
		}
		for _, h := range config.TokenEndpointHandlers {
			got = append(got, fmt.Sprintf("token %T", h))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if len(config.TokenIntrospectionHandlers)+len(config.RevocationHandlers)+
			len(config.PushedAuthorizeEndpointHandlers) > 0 {
			t.Error("fosite answers where we do")
		}
	}
	handler := framework.ConfigOf(f.Grants.Framework()).TokenEndpointHandlers[0]
	request := func(types ...string) *fosite.AccessRequest {
		r := fosite.NewAccessRequest(&grant.Session{})
		r.GrantTypes = types
		return r
	}
	for _, name := range policy.TokenGrants() {
		if !handler.CanHandleTokenEndpointRequest(
			t.Context(), request(name),
		) || handler.CanHandleTokenEndpointRequest(t.Context(), request(name, policy.GrantCode)) {
			t.Errorf("%s: the handler is not for exactly one grant type", name)
		}
		if handler.CanSkipClientAuth(t.Context(), request(name)) {
			t.Errorf("%s does without client authentication", name)
		}
	}
	if handler.CanHandleTokenEndpointRequest(
		t.Context(), request("unknown"),
	) || handler.CanHandleTokenEndpointRequest(t.Context(), request()) {
		t.Error("an unknown grant type has a handler")
	}
}

// fosite sets some fields of its configuration during the first request, without
// a lock, if they are empty. With -race, this test finds such a field.
func TestNothingIsWrittenLazily(t *testing.T) {
	f := begin(t)
	app, s := f.app(), f.login("alice")
	configs := map[string]any{
		"authorize":          framework.ConfigOf(f.Authorizations.Framework()),
		"token":              framework.ConfigOf(f.Grants.Framework()),
		"client credentials": f.Grants.ClientCredentials().Config,
	}
	empty := func() map[string]bool {
		fields := map[string]bool{}
		for name, config := range configs {
			v := reflect.ValueOf(config).Elem()
			for i := range v.NumField() {
				fields[name+" "+v.Type().Field(i).Name] = v.Field(i).IsZero()
			}
		}
		return fields
	}
	before := empty()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			<-start
			var err error
			switch i % 4 {
			case 0:
				_, err = f.token(app, "grant_type", policy.GrantClient, "scope", "read")
			case 1:
				_, err = f.exchange(app, f.code(app, s, "scope", "read"))
			case 2:
				_, err = f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
			case 3:
				_, err = f.Tokens.Revoke(t.Context(), by(app, "token", "unknown"), "")
			}
			if err != nil {
				t.Error(i, err)
			}
		})
	}
	close(start)
	wg.Wait()
	if d := cmp.Diff(before, empty()); d != "" {
		t.Error(d)
	}
}

// synctest.Test waits until every goroutine in it has ended. A goroutine that
// New started would never end.
func TestNewStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { begin(t) })
}
