package documents

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The bounds of the time for which a document is kept. CIMD-02 §5.2 allows bounds: below
// the first one each request would cost a fetch, and above the second one a change would be
// seen too late.
const (
	shortest = 5 * time.Minute
	longest  = 24 * time.Hour
)

// lifetime returns how long a document may be kept (RFC 9111 §4.2.1). This is a shared
// cache: one copy serves all people.
func lifetime(h http.Header) time.Duration {
	fresh := freshness(h)
	// RFC 9111 §4.2.3: the time that the response has spent in other caches.
	if age, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		fresh -= time.Duration(age) * time.Second
	}
	return min(max(fresh, shortest), longest)
}

func freshness(h http.Header) time.Duration {
	directives := map[string]string{}
	for _, line := range h.Values("Cache-Control") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			name = strings.ToLower(name)
			// RFC 9111 §4.2.1: of two directives with one name, the first may be used.
			if _, twice := directives[name]; !twice {
				directives[name] = strings.Trim(value, `"`)
			}
		}
	}
	for _, name := range []string{"no-store", "no-cache", "private"} {
		if _, has := directives[name]; has {
			return 0
		}
	}
	for _, name := range []string{"s-maxage", "max-age"} {
		if value, has := directives[name]; has {
			return seconds(value)
		}
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = time.Now()
	}
	return expires.Sub(date)
}

// seconds reads delta-seconds. RFC 9111 §1.2.2: a number that is too large counts as the
// largest one; any other text counts as stale.
func seconds(text string) time.Duration {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return longest
	}
	return time.Duration(n) * time.Second
}
