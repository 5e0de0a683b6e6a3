package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/storage"
)

func TestErrorText(t *testing.T) {
	t.Run("RFC6749/5.2 error_description has no other characters", func(t *testing.T) {
		var every strings.Builder
		for r := range rune(0x180) {
			every.WriteRune(r)
		}
		for _, text := range []string{every.String(), "a\xffb", "\U0001F511", `"\`} {
			for _, r := range oauth.ASCII(text) {
				if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
					t.Errorf("%q stays in", r)
				}
			}
		}
		const fine = " !#$%&'()*+,-./0123456789:;<=>?@AZ[]^_`az{|}~"
		if d := cmp.Diff(fine, oauth.ASCII(fine)); d != "" {
			t.Error(d)
		}
	})
	t.Run("the log gets the cause, and the client does not", func(t *testing.T) {
		cause := errors.New("password of the database: hunter2")
		e := oauth.Unavailable(cause)
		if !errors.Is(e, cause) || strings.Contains(e.Description, "hunter2") || !strings.Contains(e.Error(), "hunter2") ||
			e.RetryAfter == 0 {
			t.Errorf("%+v", e)
		}
	})
}

// A repetition of the request would fail in the same way, so nobody is asked to wait.
func TestRejectedValueIsNoOutage(t *testing.T) {
	e := oauth.Unavailable(fmt.Errorf("store: %w", storage.ErrRejected))
	if e.Status != http.StatusInternalServerError || e.Code != "server_error" || e.RetryAfter != 0 ||
		!errors.Is(e, storage.ErrRejected) {
		t.Errorf("%+v", e)
	}
}

// RFC 9110 §10.2.3: Retry-After has whole seconds. A client that obeys it does not come too early.
func TestLaterIsRoundedUp(t *testing.T) {
	for wait, want := range map[time.Duration]int{
		-time.Second: 1, 0: 1, time.Nanosecond: 1, time.Second: 1, time.Second + time.Nanosecond: 2, 30 * time.Second: 30,
		time.Hour: 3600,
	} {
		e := oauth.Later(http.StatusTooManyRequests, wait, "Wait.")
		if e.RetryAfter != want || e.Status != http.StatusTooManyRequests || e.Code != "temporarily_unavailable" ||
			e.Description != "Wait." {
			t.Errorf("%v: %+v, want RetryAfter %d", wait, e, want)
		}
	}
}

// What a client sent may be a secret in the wrong place, so the log does not have it. It
// has no verb of a format either.
func TestLogHasAnEllipsisForWhatTheClientSent(t *testing.T) {
	for _, test := range []struct {
		err  *oauth.Error
		want string
	}{
		{oauth.Refuse("invalid_scope", "There is no scope %q here.", "s3cret"), "invalid_scope: There is no scope … here."},
		{oauth.Refuse("invalid_request", "%s has %d characters, %.40q.", "s3cret", 7, "s3cret"),
			"invalid_request: … has … characters, …."},
		{oauth.Refuse("invalid_request", "%q is not one of %s, 100%%.", "s3cret", oauth.Own("a or b")),
			"invalid_request: … is not one of a or b, 100%."},
		{oauth.Refuse("invalid_request", "state has more than %d bytes.", oauth.Own(7)),
			"invalid_request: state has more than 7 bytes."},
		{&oauth.Error{Code: "invalid_client", Description: "Check the kid.", Cause: errors.New("the key is old")},
			"invalid_client: Check the kid: the key is old"},
		{&oauth.Error{Code: "invalid_client", Description: "Check the kid", Cause: errors.New("the key is old")},
			"invalid_client: Check the kid: the key is old"},
		{oauth.Refuse("invalid_request", "Send state once."), "invalid_request: Send state once."},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
