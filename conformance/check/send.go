package check

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Get sends a GET request.
func (t *T) Get(address string, as ...wire.Auth) *wire.Answer {
	return t.Send(http.MethodGet, address, "", "", as...)
}

// Post sends a form.
func (t *T) Post(address string, form url.Values, as ...wire.Auth) *wire.Answer {
	return t.withNonce(func() *wire.Answer {
		header, whole := http.Header{}, url.Values{}
		for name, values := range form {
			whole[name] = slices.Clone(values)
		}
		for _, a := range as {
			a(header, whole)
		}
		return t.send(http.MethodPost, address, whole.Encode(), wire.FormEncoded, wire.Headers(header))
	})
}

// Send sends a request of any kind. The functions in as may only add headers.
func (t *T) Send(method, address, body, contentType string, as ...wire.Auth) *wire.Answer {
	return t.withNonce(func() *wire.Answer { return t.send(method, address, body, contentType, as...) })
}

func (t *T) send(method, address, body, contentType string, as ...wire.Auth) *wire.Answer {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Blockedf("%s is not an address: %v", address, err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, a := range as {
		a(r.Header, url.Values{})
	}
	return t.Do(r)
}

// Do sends a request and does not follow redirects. If the server does not answer, the check is blocked. If it
// answers 429, the request is repeated after the time in Retry-After, since the many wrong requests of a run can
// exceed a rate limit.
func (t *T) Do(r *http.Request) *wire.Answer {
	var waited time.Duration
	t.server.forCertificates(r)
	for {
		a, err := t.server.do(t.ctx, r)
		t.blockedByTLS(err)
		if wire.IsRefused(err) {
			t.Blockedf("%v", err)
		}
		if err != nil {
			_, t.unanswered = errors.AsType[*wire.NoAnswerError](err)
			t.server.silence.note(t.rule, r, err)
			t.Blockedf("no answer: %v", err)
		}
		t.server.silence.noteGateway(t.rule, r, a)
		t.unmasked = append(t.unmasked, a)
		t.all = append(t.all, a)
		t.seen = a
		t.kept += len(a.Body)
		if t.kept > maxKept {
			t.Blockedf("the server's answers to this check are larger than %d MiB", maxKept>>20)
		}
		t.server.noteCredentials(a)
		wait := retryAfter(a)
		if wait == 0 {
			return a
		}
		if waited+wait > patience {
			t.Blockedf("the server limits the rate of requests: it answers 429 (Retry-After: %s)", a.Header.Get("Retry-After"))
		}
		waited += wait
		if t.waits != nil {
			t.waits(wait, t.limited(r))
		}
		t.Pause(wait)
		if r.GetBody != nil {
			r.Body, _ = r.GetBody() // the body is a string, so this cannot fail
		}
	}
}

// limited names what a server limits that answers a request with 429.
func (t *T) limited(r *http.Request) string {
	if endpoint := t.server.Endpoint(need.Registration); endpoint != "" && r.URL.String() == endpoint {
		return "registrations"
	}
	return "requests"
}

func retryAfter(a *wire.Answer) time.Duration {
	if a.Status != http.StatusTooManyRequests {
		return 0
	}
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 5
	}
	return time.Duration(min(seconds, 3600)) * time.Second // a larger number would overflow
}

// WantStatus asserts that the status is one of several.
func (t *T) WantStatus(a *wire.Answer, statuses ...int) {
	if !slices.Contains(statuses, a.Status) {
		t.At(a)
		t.Errorf("the answer is %s, want %s", a, join(statuses))
	}
}

// WantError asserts an error response with one of the codes (RFC 6749 §5.2). If tokens were issued, the check is
// blocked.
func (t *T) WantError(a *wire.Answer, codes ...string) {
	t.Refused(a)
	code := a.Text("error")
	if !slices.Contains(codes, code) {
		t.At(a)
		t.Errorf("the answer is %s with error %q, want %s", a, code, strings.Join(codes, " or "))
	}
}

// WantRefused asserts that no token was issued. How the server says so is not asserted: other rules are about the error
// response (RFC 6749 §5.2).
func (t *T) WantRefused(a *wire.Answer, why string) {
	t.At(a)
	if a.Granted() {
		t.Failf("tokens were issued, although %s", why)
	}
}

// Refused blocks the check if a token was issued for a request that is wrong on purpose. Another check reports this.
func (t *T) Refused(a *wire.Answer) {
	if a.Granted() {
		t.Blockedf("tokens were issued for a request that is wrong on purpose")
	}
}
