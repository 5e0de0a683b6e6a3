package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer limits how much of an answer is read. The answer for one token is far
// smaller.
const maxAnswer = 64 << 10

// IntrospectionConfig is the address of the introspection endpoint and the credentials
// for it. Set either AuthToken, or both ClientID and ClientSecret.
type IntrospectionConfig struct {
	URL          string // RESOURCE_SERVER_INTROSPECTION_URL
	AuthToken    string // RESOURCE_SERVER_AUTH_TOKEN: an access token that is allowed to introspect
	ClientID     string // RESOURCE_SERVER_INTROSPECTION_CREDENTIALS, first part
	ClientSecret string // RESOURCE_SERVER_INTROSPECTION_CREDENTIALS, second part

	// Timeout limits one request (RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS). Zero
	// means 5 seconds.
	Timeout time.Duration

	// Transport replaces the package's own transport, for example to use a private
	// certificate authority or client certificates.
	Transport http.RoundTripper
}

// Introspection is a [Verifier] that asks an introspection endpoint (RFC 7662).
type Introspection struct {
	url           string
	authorization string
	setting       string // the name of the setting with the credentials
	client        *http.Client
}

// NewIntrospection returns an Introspection, or an error that names the setting to change.
func NewIntrospection(c IntrospectionConfig) (*Introspection, error) {
	err := c.validate()
	if err != nil {
		return nil, err
	}
	i := &Introspection{url: c.URL, authorization: "Bearer " + c.AuthToken, setting: "RESOURCE_SERVER_AUTH_TOKEN"}
	if c.ClientID != "" {
		// RFC 6749 §2.3.1: both are form-urlencoded before they are joined, so that a
		// colon in the client id is not read as the separator.
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.ClientSecret))
		i.authorization, i.setting = r.Header.Get("Authorization"), "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS"
	}
	i.client = &http.Client{Transport: c.Transport, Timeout: c.Timeout, CheckRedirect: refuseRedirect}
	if c.Timeout == 0 {
		i.client.Timeout = 5 * time.Second
	}
	if c.Transport == nil {
		i.client.Transport = newTransport()
	}
	return i, nil
}

func (c *IntrospectionConfig) validate() error {
	// RFC 7662 §2: the endpoint is found by configuration. The operator may choose http
	// for a server on the same machine or network.
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("RESOURCE_SERVER_INTROSPECTION_URL: set an absolute http or https URL without credentials and " +
			"fragment")
	}
	pair := c.ClientID != "" || c.ClientSecret != ""
	switch {
	// RFC 7662 §2.1: the endpoint requires authorization, because otherwise anyone could
	// test guessed tokens.
	case c.AuthToken == "" && !pair:
		return errors.New("set one of RESOURCE_SERVER_AUTH_TOKEN and RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: neither is " +
			"set")
	case c.AuthToken != "" && pair:
		return errors.New("set one of RESOURCE_SERVER_AUTH_TOKEN and RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: both are set")
	case pair && (c.ClientID == "" || c.ClientSecret == ""):
		return errors.New("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: set both the client id and the client secret")
	// RFC 6750 §2.1: a value that is no b64token cannot be sent, such as a token with
	// the line break of its file.
	case !pair && !isB64Token(c.AuthToken):
		return errors.New("RESOURCE_SERVER_AUTH_TOKEN: contains a character that is not allowed in a bearer token, or is " +
			"too long")
	case c.Timeout < 0:
		return errors.New("RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS: set a positive number")
	}
	return nil
}

// newTransport returns a transport that keeps enough idle connections for a busy API.
// The standard transport keeps two per host and opens new ones for all other requests.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    256,
		MaxConnsPerHost:        256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// refuseRedirect follows no redirect, so that the token and our credentials go only to
// the configured address.
func refuseRedirect(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}

var errNotActive = inactive("the introspection endpoint answered active: false; the token is unknown, expired or " +
	"revoked, or another server issued it")

// Verify asks the endpoint about the token. It returns [ErrInactive] for a token that
// is not active, and another error if the endpoint gives no clear answer.
func (i *Introspection) Verify(ctx context.Context, token string) (*Token, error) {
	status, body, err := i.ask(ctx, token)
	if err != nil {
		return nil, fmt.Errorf(
			"ask the introspection endpoint: %w; check RESOURCE_SERVER_INTROSPECTION_URL, and that the authorization server "+
				"runs",
			err,
		)
	}
	switch {
	// RFC 7662 §2.3: 401 means that our credentials are wrong; it says nothing about the
	// token.
	case status == http.StatusUnauthorized:
		return nil, fmt.Errorf(
			"the introspection endpoint refused the credentials of this resource server with status %d%s: check %s", status,
			reason(body), i.setting,
		)
	case status == http.StatusForbidden:
		return nil, fmt.Errorf(
			"the introspection endpoint does not allow this client to introspect tokens (status %d): name it as an "+
				"introspector of the resource (with Mandate: --introspector of mandate resource add), let an administrator allow "+
				"it to introspect, or use a token with the scope introspection",
			status,
		)
	case status != http.StatusOK:
		return nil, fmt.Errorf(
			"the introspection endpoint answered with status %d: check RESOURCE_SERVER_INTROSPECTION_URL", status,
		)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the introspection endpoint answered with more than %d bytes", maxAnswer)
	}
	t, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("read the introspection answer: %w", err)
	}
	if t == nil {
		return nil, errNotActive
	}
	if !t.liveAt(time.Now()) {
		return nil, t.notLive()
	}
	return t, nil
}

// reason returns the error description of a refusal, for our own log (RFC 6749 §5.2).
func reason(body []byte) string {
	var said struct {
		Description string `json:"error_description"`
	}
	err := json.Unmarshal(body, &said)
	if err != nil || said.Description == "" {
		return ""
	}
	return fmt.Sprintf(" (%.200q)", said.Description)
}

// ask sends the request and returns the status and body of the answer.
func (i *Introspection) ask(ctx context.Context, token string) (int, []byte, error) {
	// RFC 7662 §2.1: the token and a hint are sent as a form. A token in a URL would be
	// logged by servers on the way.
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, i.url, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", i.authorization)
	// The request changes nothing, so the transport may repeat it if an idle connection
	// has been closed. A header with a nil value is not sent.
	r.Header["Idempotency-Key"] = nil
	resp, err := i.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	return resp.StatusCode, body, err
}

// liveAt reports whether a token is already valid and has not expired.
func (t *Token) liveAt(now time.Time) bool {
	// RFC 7662 §4: the server checks both times. We check them again, because the answer
	// may come from a cache.
	return !now.Before(t.NotBefore) && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// notLive returns the error for a token that is not valid at this time.
func (t *Token) notLive() error {
	if time.Now().Before(t.NotBefore) {
		return inactive("it is not valid before %s (nbf)", t.NotBefore.UTC().Format(time.RFC3339))
	}
	return inactive("it expired at %s", t.ExpiresAt.UTC().Format(time.RFC3339))
}

// decode reads an introspection response. For a token that is not active it returns nil
// and no error.
func decode(body []byte) (*Token, error) {
	var claims map[string]json.RawMessage
	// RFC 7662 §2.2: the answer is a JSON object in which active is true or false.
	if json.Unmarshal(body, &claims) != nil {
		return nil, errors.New("it is not a JSON object")
	}
	switch string(claims["active"]) {
	case "true":
	case "false":
		return nil, nil
	default:
		return nil, errors.New("its member active is neither true nor false")
	}
	return decodeClaims(claims)
}

func decodeClaims(claims map[string]json.RawMessage) (*Token, error) {
	t := &Token{Claims: claims}
	var scope string
	members := []struct {
		name string
		read func(json.RawMessage) error
	}{
		// RFC 7662 §2.2: strings, NumericDates, and an audience that is one string or many.
		{"client_id", into(&t.ClientID)},
		{"username", into(&t.Username)},
		{"sub", into(&t.Subject)},
		{"scope", into(&scope)},
		{"iss", into(&t.Issuer)},
		{"jti", into(&t.ID)},
		{"token_type", into(&t.TokenType)},
		{"exp", intoTime(&t.ExpiresAt)},
		{"iat", intoTime(&t.IssuedAt)},
		{"nbf", intoTime(&t.NotBefore)},
		{"aud", intoStrings(&t.Audience)},
	}
	for _, m := range members {
		raw, ok := claims[m.name]
		if ok && m.read(raw) != nil {
			return nil, fmt.Errorf("its member %s is malformed", m.name)
		}
	}
	t.Scope = strings.Fields(scope)
	// RFC 9470 §6: the login. Most APIs do not need these two, so a malformed one counts as
	// missing, which satisfies no requirement.
	if raw, ok := claims["acr"]; ok && json.Unmarshal(raw, &t.ACR) != nil {
		t.ACR = ""
	}
	if raw, ok := claims["auth_time"]; ok && intoTime(&t.AuthTime)(raw) != nil {
		t.AuthTime = time.Time{}
	}
	return t, nil
}

func into[T any](to *T) func(json.RawMessage) error {
	return func(raw json.RawMessage) error { return json.Unmarshal(raw, to) }
}

func intoStrings(to *[]string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if raw[0] != '"' {
			return json.Unmarshal(raw, to)
		}
		*to = make([]string, 1)
		return json.Unmarshal(raw, &(*to)[0])
	}
}

func intoTime(to *time.Time) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var seconds *float64
		err := json.Unmarshal(raw, &seconds)
		if err != nil || seconds == nil {
			return err
		}
		// Times up to the year 9999 are accepted. A larger number could overflow in the
		// conversion and give any time.
		if *seconds < 0 || *seconds > 253402300799 {
			return errors.New("out of range")
		}
		*to = time.Unix(int64(*seconds), 0)
		return nil
	}
}
