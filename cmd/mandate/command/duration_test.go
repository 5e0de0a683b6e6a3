package command

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "30m": 30 * time.Minute, "48h": 48 * time.Hour, "1h30m": 90 * time.Minute,
		"3d": 72 * time.Hour, "0d": 0, "1d12h": 36 * time.Hour, "0": 0,
	} {
		got, err := parseDuration(text)
		if err != nil || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"",
		"d",
		"7",
		"soon",
		"-1h",
		"-1d",
		"1d-1h",
		"1.5d",
		"1h1d",
		"7 d",
		"99999999999d",
		"4294967295d4294967295h",
		"7dd",
	} {
		got, err := parseDuration(text)
		if err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	for want, d := range map[string]duration{
		"":        0,
		"1d":      duration(aDay),
		"15s":     duration(15 * time.Second),
		"36h0m0s": duration(36 * time.Hour),
	} {
		if d.String() != want {
			t.Errorf("%q, want %q", d.String(), want)
		}
	}
}
