package web

import (
	"strings"
	"testing"

	"mandate/templates/languages"
)

func TestDevice(t *testing.T) {
	known, err := languages.Load()
	if err != nil {
		t.Fatal(err)
	}
	for agent, expect := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                              "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140":             "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                     "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18 Mobile/15E1 Safari/604.1": "Safari on iPhone",
		"curl/8.5.0": "curl", "robot": "Unknown browser", "": "Unknown browser", "Mozilla/5.0": "Unknown browser",
		"Your account was stolen: call +1 555 0100": "Unknown browser", "Call +1 555 0100, we use Linux": "Browser on Linux",
	} {
		if got := DeviceName(known.English(), agent); got != expect {
			t.Errorf("%q is %q, expected %q", agent, got, expect)
		}
	}
}

// A device names itself by one product at most (RFC 9110 §10.1.5): neither a sentence nor an address.
func TestProgramOfADeviceIsOneProduct(t *testing.T) {
	known, err := languages.Load()
	if err != nil {
		t.Fatal(err)
	}
	for agent, expect := range map[string]string{
		"PlannerTV/3.1 (webOS)": "PlannerTV/3.1", "Go-http-client/1.1": "Go-http-client/1.1",
		"python-requests/2.31.0":        "python-requests/2.31.0",
		"Roku/DVP-9.10 (519.10E04111A)": "Roku", "okhttp/4.12.0-beta": "okhttp", "robot": "robot",
		"Your account was stolen": "Your",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
		"Mozilla/5.0 (see evil.example)":                                         "",
		"evil.example":                                                           "", "evil.example/1.0": "",
		"https://evil.example/": "", "login/1.evil.example": "login",
		"+15550100": "", "x/1/../2": "x/1",
		"": "", " x": "", "(comment)": "", "a\tb": "", "a\u202eb": "", "approve!": "", strings.Repeat("a", 32): "",
		strings.Repeat("a", 31):        strings.Repeat("a", 31),
		"a/" + strings.Repeat("1", 16): "a",
	} {
		if got := Program(known.English(), agent); got != expect {
			t.Errorf("%q is %q, expected %q", agent, got, expect)
		}
	}
}
