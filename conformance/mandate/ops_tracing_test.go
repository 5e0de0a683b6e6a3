package mandate

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver receives traces by OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	raw      string
	spans    []*trace.Span
	services []string
}

func receive(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || request.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", request.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw += string(body)
		for _, of := range sent.ResourceSpans {
			r.services = append(r.services, attributes(of.GetResource().GetAttributes())["service.name"])
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []*trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// named returns the spans with a name.
func (r *receiver) named(name string) []*trace.Span {
	return slices.DeleteFunc(r.all(), func(s *trace.Span) bool { return s.Name != name })
}

func attributes(list []*common.KeyValue) map[string]string {
	found := map[string]string{}
	for _, a := range list {
		found[a.Key] = a.GetValue().GetStringValue()
	}
	return found
}

func traced(r *receiver) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_SERVICE_NAME=the-login", "OTEL_BSP_SCHEDULE_DELAY=50"}
}

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

// inTrace sends a request as part of a trace (W3C Trace Context §3.2).
func inTrace(as auth, flags string) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		r.Header.Set("traceparent", "00-"+callersTrace+"-"+callersSpan+"-"+flags)
	}
}

// A trace contains the request under the caller's span, and under the request the
// database statements. It contains nothing that a client sent.
func TestTraces(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		r := receive(t)
		s := startServer(t, options{database: db, env: traced(r), provider: []string{"OIDC_ENABLED: true", metricScopes}})
		alice := s.person(t, "alice.liddell")
		app := s.relyingParty(t, "--grant", "client_credentials", "--grant", "password", "--skip-consent", "--may-introspect")
		tab := s.signedIn(t, alice)
		family := tab.family(t, app, alice, "scope", "openid read")
		_, a := s.token(t, inTrace(app.auth(), "01"),
			params("grant_type", "refresh_token", "refresh_token", family.RefreshToken))
		if a.Status != http.StatusOK {
			t.Fatal(a.Body)
		}
		mine := func(name string) *trace.Span {
			for _, span := range r.named(name) {
				if hex.EncodeToString(span.TraceId) == callersTrace {
					return span
				}
			}
			return nil
		}
		waitFor(t, "the request's span arrives", func() bool { return mine("POST /o/token/") != nil })
		request := mine("POST /o/token/")
		if hex.EncodeToString(request.ParentSpanId) != callersSpan || request.Kind != trace.Span_SPAN_KIND_SERVER {
			t.Errorf("the request's span is %v", request)
		}
		has := attributes(request.Attributes)
		if has["http.route"] != "/o/token/" || has["mandate.grant_type"] != "refresh_token" ||
			has["mandate.outcome"] != "ok" || has["mandate.request"] != a.Header.Get("X-Request-Id") {
			t.Errorf("its attributes are %v", has)
		}
		// PostgreSQL refreshes by one statement
		want := map[string]string{"SELECT tokens": "POST /o/token/", "WITH tokens": "POST /o/token/"}
		if db.name == "sqlite" {
			want = map[string]string{"SELECT tokens": "POST /o/token/", "TRANSACTION": "POST /o/token/",
				"UPDATE tokens": "TRANSACTION", "INSERT tokens": "TRANSACTION"}
		}
		for name, below := range want {
			span := mine(name)
			if span == nil {
				t.Errorf("there is no span %s", name)
				continue
			}
			if string(span.ParentSpanId) != string(mine(below).SpanId) {
				t.Errorf("%s is not below %s", name, below)
			}
			if system := attributes(span.Attributes)["db.system.name"]; !strings.HasPrefix(system, db.name) {
				t.Errorf("%s is of %s", name, system)
			}
		}
		// The line is written after the span has ended.
		waitFor(t, "the log names the trace", func() bool { return strings.Contains(s.log.String(), "trace="+callersTrace) })
		s.stop(t) // sends what is left
		r.sane(t, s, app, alice)
	})
}

// sane: no span contains what a client sent, and no library adds spans of its own.
func (r *receiver) sane(t *testing.T, s *server, app application, p person) {
	t.Helper()
	for _, name := range r.services {
		if name != "the-login" {
			t.Errorf("the service is %q", name)
		}
	}
	for _, word := range append(s.secrets.all(), app.ID, app.ClientID, p.Name) {
		if strings.Contains(r.raw, word) {
			t.Errorf("the traces hold %q", word)
		}
	}
	roots := map[string]bool{}
	for _, span := range r.all() {
		if len(span.ParentSpanId) == 0 {
			roots[span.Name] = true
		}
		if strings.Contains(span.Name, "Fosite") {
			t.Errorf("there is a span %s", span.Name)
		}
	}
	for name := range roots {
		if !strings.HasPrefix(name, "GET ") && !strings.HasPrefix(name, "POST ") {
			t.Errorf("%s is not below a request", name)
		}
	}
}

// If the caller's trace is not sampled, the server sends no spans: the default is
// parentbased_always_on.
func TestTracesFollowTheSampler(t *testing.T) {
	r := receive(t)
	s := startServer(t, options{env: traced(r)})
	app := s.application(t, "--name", "x", "--grant", "client_credentials")
	s.post(t, "/o/token/", inTrace(app.auth(), "00"), params("grant_type", "client_credentials"))
	s.get(t, "/login/", nobody)
	s.stop(t)
	if len(r.named("GET /login/")) != 1 || len(r.named("POST /o/token/")) != 0 {
		t.Errorf("got %d spans of what was to be sampled, and %d of what was not", len(r.named("GET /login/")),
			len(r.named("POST /o/token/")))
	}
}

// A request to a registered address is a span with the host of the address. The span
// does not contain the parts of the address that may be secret.
func TestTracesOfCalls(t *testing.T) {
	r, l := receive(t), listen(t, 200)
	s := startServer(t, options{env: traced(r), settings: []string{thisHost},
		provider: []string{"OIDC_ENABLED: true", metricScopes}})
	alice := s.person(t, "alice")
	app := s.relyingParty(t, "--skip-consent", "--backchannel-logout-uri", l.URL+"/told?key=hidden-7351")
	s.signedIn(t, alice).family(t, app, alice, "scope", "openid read")
	s.mustCLI(t, "", "user", "logout", alice.Name)
	told := <-l.heard
	if told.header.Get("traceparent") != "" {
		t.Error("a stranger is told of our traces")
	}
	waitFor(t, "the call's span arrives", func() bool { return len(r.named("POST")) == 1 })
	has := attributes(r.named("POST")[0].Attributes)
	if has["server.address"] != "127.0.0.1" {
		t.Errorf("its attributes are %v", has)
	}
	s.stop(t)
	if strings.Contains(r.raw, "/told") || strings.Contains(r.raw, "hidden-7351") {
		t.Error("the traces hold the path of the address")
	}
}

// Without configuration nothing is traced. A wrong configuration is reported at the
// start.
func TestTracesByTheEnvironment(t *testing.T) {
	r := receive(t)
	for _, env := range [][]string{{"OTEL_SERVICE_NAME=x"}, append(traced(r), "OTEL_TRACES_EXPORTER=none"),
		append(traced(r), "OTEL_SDK_DISABLED=true")} {
		s := startServer(t, options{env: env})
		s.get(t, "/login/", inTrace(nobody, "01"))
		s.stop(t)
		if strings.Contains(s.log.String(), "trace=") || len(r.all()) > 0 {
			t.Errorf("with %v there are traces", env)
		}
	}
	for env, want := range map[string]string{
		"OTEL_TRACES_EXPORTER=zipkin":                                       `OTEL_TRACES_EXPORTER: the exporter "zipkin" is not supported, only otlp and none`,
		"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc": `OTEL_EXPORTER_OTLP_PROTOCOL: the protocol "grpc" is not supported, only http/protobuf`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL +
			" OTEL_EXPORTER_OTLP_PROTOCOL=http/json": `OTEL_EXPORTER_OTLP_PROTOCOL: the protocol "http/json" is not supported, only http/protobuf`,
	} {
		got := run(t, t.TempDir(), strings.Fields(env), "", "serve")
		if got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %s", env, got.code, got.stderr)
		}
	}
}
