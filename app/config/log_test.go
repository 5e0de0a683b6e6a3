package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// No log line has a character that a terminal obeys, whoever chose it.
func TestLogIsPrintable(t *testing.T) {
	const hostile = "a\u009b31mb\u202ec\nd\x1b[2Je\x7f"
	for _, format := range []string{"text", "json"} {
		var log bytes.Buffer
		c := Config{Log: Log{LogLevel: "info", LogFormat: format}}
		c.Logger(&log).Info(hostile, "text", hostile, "error", errors.New(hostile), "number", 5, "letters", "é 日本")
		line := strings.TrimSuffix(log.String(), "\n")
		for _, r := range line {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
				t.Errorf("%s: the line has %U: %s", format, r, line)
			}
		}
		if !strings.Contains(line, "é 日本") {
			t.Errorf("%s: letters are escaped: %s", format, line)
		}
		if format == "text" {
			continue
		}
		var read map[string]any
		err := json.Unmarshal([]byte(line), &read)
		if err != nil || read["number"] != 5.0 {
			t.Errorf("%v: %s", err, line)
		}
		for _, key := range []string{"msg", "text", "error"} {
			if got := read[key]; !strings.HasPrefix(got.(string), `a\u009b31mb\u202ec`) {
				t.Errorf("%s is %q", key, got)
			}
		}
	}
}
