package mandate

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

const metricScopes = "SCOPES: {read: Read, openid: Sign in, introspection: Introspect}"

// The metrics report exactly what happened, and nothing else.
func TestMetricsMoveByWhatWasDone(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		l := listen(t, 200)
		w := startWatched(t,
			options{database: db, settings: []string{thisHost}, provider: []string{"OIDC_ENABLED: true", metricScopes}})
		alice := w.person(t, "alice.liddell")
		app := w.relyingParty(t, "--grant", "client_credentials", "--grant", "password", "--skip-consent", "--may-introspect",
			"--backchannel-logout-uri", l.URL)
		tab := w.signedIn(t, alice)

		counted := []string{"mandate_token_requests_total", "mandate_introspections_total", "mandate_tokens_issued_total",
			"mandate_http_requests_total", "mandate_http_request_duration_seconds"}
		waitFor(t, "the login is counted", func() bool {
			return w.series(t,
				"mandate_http_requests_total")["mandate_http_requests_total{method=POST,route=/login/,status=3xx}"] == 1
		})
		before := w.series(t, counted...)
		var last string
		for range 3 {
			last = w.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
		}
		w.token(t, basic(app.ClientID, "a wrong secret"), params("grant_type", "client_credentials"))
		w.token(t, app.auth(), params("grant_type", "client_credentials", "scope", "no-such-scope"))
		w.token(t, app.auth(), params("grant_type", app.ClientID))
		w.token(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", "mrt_unknown"))
		family := tab.family(t, app, alice, "scope", "openid read")
		w.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", family.RefreshToken))
		for _, token := range []string{last, family.AccessToken, "mat_unknown"} {
			w.introspect(t, app.auth(), token)
		}
		w.post(t, "/o/introspect/", basic(app.ClientID, "a wrong secret"), params("token", last))
		w.get(t, "/o/applications/"+app.ID+"/", nobody)
		w.get(t, "/no/such/"+app.ClientID, nobody)
		odd, _ := http.NewRequest("BREW", w.URL+"/o/token/", nil)
		_, err := w.do(odd)
		if err != nil {
			t.Fatal(err)
		}

		const took = "mandate_http_request_duration_seconds"
		const requests, token = "mandate_http_requests_total", "mandate_token_requests_total"
		w.moved(t, before, map[string]float64{
			token + "{grant_type=client_credentials,outcome=ok}":             3,
			token + "{grant_type=client_credentials,outcome=invalid_client}": 1,
			token + "{grant_type=client_credentials,outcome=invalid_scope}":  1,
			token + "{grant_type=other,outcome=unsupported_grant_type}":      1,
			token + "{grant_type=refresh_token,outcome=invalid_grant}":       1,
			token + "{grant_type=refresh_token,outcome=ok}":                  1,
			token + "{grant_type=authorization_code,outcome=ok}":             1,
			token + "{grant_type=other,outcome=invalid_request}":             1,
			"mandate_introspections_total{outcome=active}":                   2,
			"mandate_introspections_total{outcome=inactive}":                 1,
			"mandate_introspections_total{outcome=refused}":                  1,
			"mandate_tokens_issued_total{kind=access}":                       5,
			"mandate_tokens_issued_total{kind=refresh}":                      2,
			"mandate_tokens_issued_total{kind=id}":                           2,
			"mandate_tokens_issued_total{kind=code}":                         1,
			requests + "{method=POST,route=/o/token/,status=2xx}":            5,
			requests + "{method=POST,route=/o/token/,status=4xx}":            4,
			requests + "{method=other,route=/o/token/,status=4xx}":           1,
			requests + "{method=POST,route=/o/introspect/,status=2xx}":       3,
			requests + "{method=POST,route=/o/introspect/,status=4xx}":       1,
			requests + "{method=GET,route=/o/authorize/,status=3xx}":         1,
			requests + "{method=GET,route=/o/applications/{id}/,status=3xx}": 1,
			requests + "{method=GET,route=unmatched,status=4xx}":             1,
			took + "{method=POST,route=/o/token/}":                           9,
			took + "{method=other,route=/o/token/}":                          1,
			took + "{method=POST,route=/o/introspect/}":                      4,
			took + "{method=GET,route=/o/authorize/}":                        1,
			took + "{method=GET,route=/o/applications/{id}/}":                1,
			took + "{method=GET,route=unmatched}":                            1,
		}, counted...)

		before = w.series(t, "mandate_backchannel_logouts_total")
		w.mustCLI(t, "", "user", "logout", alice.Name)
		<-l.heard
		w.moved(t, before, map[string]float64{"mandate_backchannel_logouts_total{outcome=told}": 1},
			"mandate_backchannel_logouts_total")
		w.noSecretsInMetrics(t, app, alice)
	})
}

// noSecretsInMetrics: the metrics also have no label with a value per client or person.
func (w *watched) noSecretsInMetrics(t *testing.T, app application, p person) {
	t.Helper()
	text := w.look(t, "/metrics").Body
	for _, word := range append(w.secrets.all(), app.ID, app.ClientID, p.Name, "no-such-scope", "/no/such", "BREW",
		"127.0.0.1") {
		if strings.Contains(text, word) {
			t.Errorf("the metrics hold %q", word)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "mandate_") { // the library defines the metrics of the runtime
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
}

var metricRow = regexp.MustCompile("(?m)^\\| `(mandate_[a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\| " +
	"([^|]*) \\|$")

// TestMetricsAreThoseOfTheDocs compares the table in docs/observability.md with a
// running server: the name, kind, labels and text of each metric.
func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	w := startWatched(t, options{settings: []string{"EVENT_LOG: " + quote(filepath.Join(t.TempDir(), "events.json"))}})
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Kind, Labels, Help string }
	want, got := map[string]row{}, map[string]row{}
	for _, m := range metricRow.FindAllStringSubmatch(string(page), -1) {
		want[m[1]] = row{m[2], strings.ReplaceAll(strings.ReplaceAll(m[3], "`", ""), ",", ""), m[4]}
	}
	for name, family := range w.scrape(t) {
		if !strings.HasPrefix(name, "mandate_") {
			continue
		}
		seen := row{Kind: strings.ToLower(family.GetType().String()), Help: family.GetHelp()}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		for _, l := range strings.Fields(want[name].Labels) { // in the order of the page
			if i := slices.Index(labels, l); i >= 0 {
				seen.Labels += " " + l
				labels = slices.Delete(labels, i, i+1)
			}
		}
		seen.Labels = strings.TrimSpace(seen.Labels + " " + strings.Join(labels, " "))
		got[name] = seen
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/observability.md and /metrics differ (-page +server):\n%s", diff)
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if w.scrape(t)[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}
