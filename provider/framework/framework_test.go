package framework

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ory/fosite"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
)

func TestErrorText(t *testing.T) {
	t.Run("what fosite says is passed on where it is meant for clients", func(t *testing.T) {
		ours := oauth.Refuse("invalid_grant", "ours")
		for _, test := range []struct {
			err  error
			want string
		}{
			{ours, "400 invalid_grant"},
			{fosite.ErrServerError.WithWrap(ours), "400 invalid_grant"},
			{fosite.ErrServerError.WithWrap(oauth.Unavailable(errors.New("database"))), "503 temporarily_unavailable"},
			{fosite.ErrInvalidScope.WithHint("hint"), "400 invalid_scope"},
			{fosite.ErrServerError.WithWrap(errors.New("database")), "500 server_error"},
			{fosite.ErrTemporarilyUnavailable, "500 server_error"},
			{errUnused, "500 server_error"},
			{errors.New("anything else"), "500 server_error"},
		} {
			oauthtest.Want(t, Failed(test.err), test.want)
		}
		e := Failed(fosite.ErrInvalidScope.WithHint("hint").WithDebug("debug"))
		if e.Description != "hint" || strings.Contains(e.Error(), "hint") { // the hint may contain what the client sent
			t.Error(e.Description, e)
		}
	})
}

// What fosite calls of provider/framework/oryx: an error has a stack and can be compared, and a span ends without the
// text of the error, which a client can choose.
func TestOryX(t *testing.T) {
	ended := tracetest.NewSpanRecorder()
	ctx, span := trace.NewTracerProvider(trace.WithSpanProcessor(ended)).Tracer("").Start(t.Context(), "request")
	r := httptest.NewRequest("PUT", "/token", nil).WithContext(ctx)
	_, err := (&fosite.Fosite{Config: &fosite.Config{}}).NewAccessRequest(ctx, r, nil)
	span.End()
	if !errors.Is(err, fosite.ErrInvalidRequest) || !strings.Contains(fmt.Sprintf("%+v", err), "NewAccessRequest") {
		t.Errorf("%+v", err)
	}
	spans := ended.Ended()
	if len(spans) != 2 || spans[0].Status() != (trace.Status{
		Code:        codes.Error,
		Description: "error",
	}) || len(spans[0].Attributes()) > 0 {
		t.Error(spans[0].Status(), spans[0].Attributes())
	}
}
