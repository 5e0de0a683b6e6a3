package load

import (
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHistogramIsExactToOnePercent(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 255, 256, 257, 511, 512, 1023, 1024, 999_999, time.Second, time.Hour,
		math.MaxInt64} {
		got := middle(step(d))
		if math.Abs(float64(got-d)) > 0.01*float64(d) {
			t.Errorf("%d is counted as %d", d, got)
		}
		if d > 0 && step(d) < step(d-1) {
			t.Errorf("the step of %d is before that of %d", d, d-1)
		}
	}
	source := rand.New(rand.NewPCG(1, 2))
	var whole, first, second Histogram
	var all []float64
	for n := range 20_000 {
		d := time.Duration(math.Exp(source.Float64()*18 + 3)) // 20 ns to 1.3 s
		whole.add(d)
		all = append(all, float64(d))
		if n%3 == 0 {
			first.add(d)
		} else {
			second.add(d)
		}
	}
	slices.Sort(all)
	first.Merge(second)
	for _, share := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(share*float64(len(all))))-1]
		for _, h := range []*Histogram{&whole, &first} {
			got := float64(h.Quantile(share))
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("quantile %v: %v, want %v", share, got, want)
			}
		}
	}
}

func TestQuantileIsTheLeastThatEnoughDoNotExceed(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for n := range 100 {
		h.add(time.Duration(n + 1))
	}
	for _, c := range []struct {
		share float64
		want  time.Duration
	}{{0, 1}, {0.01, 1}, {0.011, 2}, {0.5, 50}, {0.501, 51}, {0.99, 99}, {0.999, 100}, {1, 100}} {
		got := h.Quantile(c.share)
		if got != c.want {
			t.Errorf("quantile %v of 1 to 100 is %d, want %d", c.share, got, c.want)
		}
	}
}

func TestRatiosArePaired(t *testing.T) {
	// The machine was three times as fast in the second round and twice as slow in the third.
	got := Ratios([]float64{80, 270, 30}, []float64{100, 300, 50})
	want := Spread{0.8, 0.6, 0.9}
	for _, pair := range [][2]float64{{got.Median, want.Median}, {got.Min, want.Min}, {got.Max, want.Max}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if (Ratios([]float64{1}, []float64{0}) != Spread{}) {
		t.Error("a bare handler that answered nothing gives a ratio")
	}
	if Median([]float64{4, 1, 3, 2}) != 2.5 {
		t.Error("the median of four is not between the two in the middle")
	}
}

func TestAnswersInAnyShape(t *testing.T) {
	const body = `{"active": true}`
	for name, sent := range map[string][]string{
		"length":    {"HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n" + body},
		"in pieces": {"HTTP/1.1 200 O", "K\r\nContent-Length: 16\r", "\n\r", "\n{\"active\"", ": true}"},
		"chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"active\"\r\n7;x=y\r\n: " +
			"true}\r\n0\r\n\r\n"},
		"chunked pieces": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1", "0\r\n{\"active\"", ": true}\r",
			"\n0\r\n\r", "\n"},
		"long head": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20_000) + "\r\nContent-Length: 16\r\n\r\n" + body},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			_ = ours.SetDeadline(time.Now().Add(10 * time.Second)) // a pipe takes one
			c := &conn{Conn: ours, buf: make([]byte, 64)}
			go func() {
				defer theirs.Close()
				read := make([]byte, 64)
				for range 2 { // the connection is good for another one
					_, err := theirs.Read(read)
					for _, part := range sent {
						if err == nil {
							_, err = theirs.Write([]byte(part))
						}
					}
				}
			}()
			for range 2 {
				r, err := c.ask([]byte("GET / HTTP/1.1\r\n\r\n"))
				if err != nil || r.Status != 200 || string(r.Body) != body {
					t.Fatalf("status %d, body %q, %v", r.Status, r.Body, err)
				}
			}
		})
	}
}
