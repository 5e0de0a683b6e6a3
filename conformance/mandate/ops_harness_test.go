package mandate

import (
	"fmt"
	"io"
	"mandate/testkit/port"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// watched is a server with a separate listener for operators.
type watched struct {
	*server
	ops string // where that is
}

func startWatched(t testing.TB, o options) *watched {
	t.Helper()
	at := port.Address()
	o.settings = append(slices.Clone(o.settings), "OPS_LISTEN: "+at)
	return &watched{startServer(t, o), "http://" + at}
}

// look requests a path of that listener.
func (w *watched) look(t testing.TB, path string) answer {
	t.Helper()
	response, err := w.client.Get(w.ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(read)}
}

// scrape reads the metrics as Prometheus does.
func (w *watched) scrape(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	a := w.look(t, "/metrics")
	if a.Status != http.StatusOK {
		t.Fatalf("/metrics answered %d:\n%s", a.Status, a.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(a.Body))
	if err != nil {
		t.Fatalf("%v in\n%s", err, a.Body)
	}
	return families
}

// series returns the values of metric families by name and labels; for a histogram, the
// number of its observations.
func (w *watched) series(t testing.TB, names ...string) map[string]float64 {
	t.Helper()
	families, found := w.scrape(t), map[string]float64{}
	for _, name := range names {
		for _, m := range families[name].GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			found[fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))] = value
		}
	}
	return found
}

// moved checks that exactly these values have grown by these amounts, and no other
// value of these families. The server counts a request after sending its answer, so
// moved repeats the check until a deadline.
func (w *watched) moved(t testing.TB, before, want map[string]float64, names ...string) {
	t.Helper()
	var diff string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got := w.series(t, names...)
		for name := range maps.Clone(got) {
			got[name] -= before[name]
			if got[name] == 0 {
				delete(got, name)
			}
		}
		diff = cmp.Diff(want, got)
		if diff == "" {
			return
		}
	}
	t.Errorf("the metrics moved otherwise (-want +got):\n%s", diff)
}
