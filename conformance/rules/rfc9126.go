package rules

import (
	"net/http"
	"net/url"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc9126Endpoint has the checks of the rules about the pushed authorization request endpoint (RFC 9126 §2).
var rfc9126Endpoint = checks{
	"RFC9126/2/client-authenticated": func(t *T) {
		c := t.Client(need.Code)
		t.Pushed(t.Request(c))
		for _, s := range strangers(t, c) {
			wantNotPushed(t, t.PushAs(s.as, t.Request(c).Params), s.why)
		}
	},
	"RFC9126/2.1/no-request-uri": func(t *T) {
		c := t.Client(need.Code)
		uri := t.Pushed(t.Request(c)).URI
		wantNotPushed(t, t.Push(t.Request(c).Set("request_uri", uri)), "the request contains request_uri")
	},
	"RFC9126/2.1/validated": func(t *T) {
		c := t.Client(need.Code)
		t.Pushed(t.Request(c))
		wantNotPushed(t, t.Push(t.Request(c).Set("redirect_uri", "https://attacker.example/"+t.Random())),
			"the redirect URI is not registered")
		wantNotPushed(t, t.Push(t.Request(c).Set("response_type", "conformance")), "the response type is unknown")
		wantNotPushed(t, t.Push(t.Request(c).Del("response_type")), "the request has no response_type")
	},
	"RFC9126/2.1/own-request": func(t *T) {
		c, other := t.Client(need.Code), t.Client(need.Second)
		t.Pushed(t.Request(c))
		form := t.Request(c).Params
		as := func(header http.Header, sent url.Values) {
			other.Credentials()(header, sent)
			sent.Set("client_id", c.ID)
		}
		wantNotPushed(t, t.PushAs(as, form), "another client authenticated")
	},
	"RFC9126/2.2/response": rfc9126Response,
	"RFC9126/2.2/unguessable": func(t *T) {
		wantBits(t, 128, func() string { return t.Pushed(t.Request(t.Client(need.Code))).URI })
	},
	"RFC9126/2.2/bound": func(t *T) {
		r := t.Pushed(t.Request(t.Client(need.Code)))
		stolen := *r
		stolen.Client = t.Client(need.Second)
		t.WantNoCode(t.Authorize(&stolen), "another client pushed the request")
		t.Code(t.Pushed(t.Request(t.Client(need.Code))))
	},
	"RFC9126/2.3/method": func(t *T) {
		r := t.Request(t.Client(need.Code))
		t.Pushed(r)
		t.WantStatus(t.Get(wire.WithQuery(t.Endpoint(need.PushedRequests), r.Params), r.Client.Credentials()),
			http.StatusMethodNotAllowed)
	},
	"RFC9126/2.3/error": func(t *T) {
		a := t.Push(t.Request(t.Client(need.Code)).Set("response_type", "conformance"))
		if a.Status/100 == 2 {
			t.Blockedf("a pushed request that is wrong on purpose was accepted")
		}
		t.WantStatus(a, http.StatusBadRequest)
		if a.MediaType() != "application/json" || a.Text("error") == "" {
			t.Errorf("the media type is %q, and error is %s", a.MediaType(), Quoted(a.JSON()["error"]))
		}
	},
	"RFC9126/2.3/invalid-client": func(t *T) {
		c := t.Client(need.Code)
		t.Pushed(t.Request(c))
		for _, s := range strangers(t, c) {
			a := t.PushAs(s.as, t.Request(c).Params)
			if a.Status/100 != 2 && a.Text("error") != "invalid_client" {
				t.Errorf("the error is %q, want invalid_client, when %s", a.Text("error"), s.why)
			}
		}
	},
}

func rfc9126Response(t *T) {
	a := t.Push(t.Request(t.Client(need.Code)))
	if a.Status/100 != 2 {
		t.Blockedf("the server did not accept a pushed request: %s", t.Failure(a))
	}
	t.WantStatus(a, http.StatusCreated)
	if a.MediaType() != "application/json" {
		t.Errorf("the media type is %q, want application/json", a.MediaType())
	}
	if a.Text("request_uri") == "" {
		t.Errorf("request_uri is %s, want a URI", Quoted(a.JSON()["request_uri"]))
	}
	if seconds := lifetime(a); seconds <= 0 || seconds != float64(int(seconds)) {
		t.Errorf("expires_in is %s, want a positive number of whole seconds", Quoted(a.JSON()["expires_in"]))
	}
}

// stranger is somebody who knows only the identifier of a client.
type stranger struct {
	why string
	as  wire.Auth
}

func strangers(t *T, c *target.Client) []stranger {
	return []stranger{{"the client did not authenticate", wire.InBody(c.ID, "")},
		{"the credentials were wrong", c.With("wrong-" + t.Random())}}
}

// rfc9126Authorization has the checks of the rules about what follows the push.
var rfc9126Authorization = checks{
	"RFC9126/4/works": func(t *T) {
		r := t.Pushed(t.Request(t.Client(need.Code)))
		response := t.Authorize(r)
		wantCode(t, response, "a pushed request")
		if got := response.Params.Get("state"); got != r.Params.Get("state") {
			t.Errorf("state of the response is %s, and another one was pushed", Quoted(got))
		}
		t.WantGranted(t.Redeem(t.CodeOf(response)))
	},
	"RFC9126/4/expired": func(t *T) {
		t.SignedIn() // it can take longer than the lifetime
		r := t.Pushed(t.Request(t.Client(need.Code)))
		seconds := lifetime(t.Last())
		if seconds <= 0 || seconds > longestWait.Seconds() {
			t.Skipf("a request URI of this server lives for %s seconds, and a check waits for %.0f at most",
				Quoted(t.Last().JSON()["expires_in"]), longestWait.Seconds())
		}
		t.Code(t.Pushed(t.Request(t.Client(need.Code))))
		t.Pause(time.Duration(seconds) * time.Second)
		t.WantNoCode(t.Authorize(r), "the request URI has expired")
	},
	"RFC9126/4/once": func(t *T) {
		r := t.Pushed(t.Request(t.Client(need.Code)))
		t.Code(r)
		t.WantWithheld(t.Authorize(r), "the request URI has been used")
	},
	"RFC9126/4/opened-again": func(t *T) {
		t.Code(t.Pushed(t.Request(t.Client(need.Code))))
		r := t.Pushed(t.Request(t.Client(need.Code)))
		for range 2 {
			t.OpenAnonymously(r)
		}
		wantCode(t, t.Authorize(r), "a pushed request that was opened twice before the login")
	},
	"RFC9126/4/required": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Pushed(t.Request(c)))
		if t.Metadata()["require_pushed_authorization_requests"] != true {
			t.Skipf("the rule applies to a server with require_pushed_authorization_requests: true in its metadata")
		}
		t.WantNoCode(t.Authorize(t.Request(c)), "the request was not pushed")
	},
	"RFC9126/5/metadata": func(t *T) {
		m := publishedMetadata(t)
		t.Endpoint(need.PushedRequests)
		if m.Text(string(need.PushedRequests)) == "" {
			t.Errorf("the metadata has no pushed_authorization_request_endpoint")
		}
		if _, is := m["require_pushed_authorization_requests"].(bool); !is {
			t.Errorf("require_pushed_authorization_requests is %s, want true or false",
				Quoted(m["require_pushed_authorization_requests"]))
		}
	},
	"RFC9126/6/client-metadata": func(t *T) {
		t.Endpoint(need.PushedRequests)
		m := mustPush(t)
		t.WithClient(m, func(made *check.Made) {
			wantSame(t, made.Answer, m, "require_pushed_authorization_requests")
		})
	},
	"RFC9126/6/required-of-client": func(t *T) {
		t.Endpoint(need.PushedRequests)
		m := mustPush(t)
		t.WithClient(m, func(made *check.Made) {
			if made.JSON()["require_pushed_authorization_requests"] != true {
				t.Skipf("the server did not register the client with require_pushed_authorization_requests")
			}
			c := registered(made)
			t.Code(t.Pushed(registeredRequest(t, c, made)))
			t.WantNoCode(t.Authorize(registeredRequest(t, c, made)), "the request was not pushed")
		})
	},
}

// longestWait is how long a check waits until something has expired.
const longestWait = 15 * time.Second

// lifetime returns expires_in of an answer, or 0.
func lifetime(a *wire.Answer) float64 {
	seconds, _ := a.JSON()["expires_in"].(float64)
	return seconds
}

// mustPush returns the metadata of a client whose requests must be pushed.
func mustPush(t *T) map[string]any {
	m := plainClient(t)
	m["require_pushed_authorization_requests"] = true
	return m
}

// registered returns a client that a check has registered.
func registered(made *check.Made) *target.Client {
	uris, _ := check.Metadata(made.JSON()).List("redirect_uris")
	return &target.Client{ID: made.Text("client_id"), Secret: made.Text("client_secret"),
		Auth: made.Text("token_endpoint_auth_method"), RedirectURIs: uris}
}

// wantNotPushed asserts that the server refused a pushed request. Other rules are about the error response.
func wantNotPushed(t *T, a *wire.Answer, why string) {
	t.At(a)
	if a.Text("request_uri") != "" {
		t.Failf("a request URI was issued, although %s", why)
	}
}

// pushTaken returns the request URI of a pushed request. Without one the check is blocked.
func pushTaken(t *T, a *wire.Answer) string {
	if a.Text("request_uri") == "" {
		t.Blockedf("the server did not accept a pushed request that is correct: %s", t.Failure(a))
	}
	return a.Text("request_uri")
}
