package indicator

import "testing"

func TestCheck(t *testing.T) {
	for raw, ok := range map[string]bool{
		"https://api.example":                  true,
		"https://api.example/":                 true,
		"https://api.example/v1?x=1":           true,
		"http://127.0.0.1:8000/mcp":            true,
		"urn:example:api":                      true,
		"com.example:/api":                     true,
		"":                                     false,
		"api.example":                          false,
		"/v1":                                  false,
		"//api.example":                        false,
		"https:":                               false,
		"https://":                             false,
		"https:api.example":                    false,
		"https:///v1":                          false,
		"urn:":                                 false,
		"https://api.example/#":                false,
		"https://api.example/#a":               false,
		"https://user@api.example":             false,
		"https://api.example/a b":              false,
		"https://api.example/ä":                false,
		"https://api.example/%zz":              false,
		"https://api.example/\x00":             false,
		"https://%C3%A4.example/":              false,
		"https://%80/":                         false,
		"http://[fe80::1%25eth0]/":             false,
		"https://api.example:port/":            false,
		"https://my_app/" + long(maxLength-15): true,
		"https://my_app/" + long(maxLength-14): false,
		"https://127.1/":                       false,
		"https://api.example%E2%80%8B/":        false,
	} {
		if wrong := Check(raw); (wrong == "") != ok {
			t.Errorf("%.60q: %q", raw, wrong)
		}
	}
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a'
	}
	return string(b)
}

// RFC 3986 §6.2.2, §6.2.3: only what cannot name another resource is made equal.
func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"https://api.example", "https://api.example/", true},
		{"https://api.example", "HTTPS://API.Example", true},
		{"https://api.example", "https://api.example:443/", true},
		{"http://api.example:80", "http://api.example", true},
		{"https://[2001:DB8::1]:443/x", "https://[2001:db8::1]/x", true},
		{"https://api.example?x", "https://api.example/?x", true},
		{"URN:example:api", "urn:example:api", true},
		{"https://api.example", "http://api.example", false},
		{"https://api.example:8443", "https://api.example", false},
		{"https://api.example:80", "https://api.example", false},
		{"https://api.example/v1", "https://api.example/v1/", false},
		{"https://api.example/v1", "https://api.example/V1", false},
		{"https://api.example/v1", "https://api.example/v", false},
		{"https://api.example/a%2Fb", "https://api.example/a/b", false},
		{"https://api.example/?", "https://api.example/", false},
		{"https://api.example/?a", "https://api.example/?b", false},
		{"https://api.example", "https://api.example.evil", false},
		{"urn:example:api", "urn:example:API", false},
	} {
		if got := Same(test.a, test.b); got != test.same {
			t.Errorf("%s and %s: %t (%s, %s)", test.a, test.b, got, Normal(test.a), Normal(test.b))
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, seed := range []string{"https://api.example", "HTTP://[::1]:80/?a#b", "urn:x", "https://a:443",
		"https://a/%2F?", "http://%80", "http://[fe80::1%25eth0]", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if Check(raw) != "" {
			return
		}
		normal := Normal(raw)
		if again := Normal(normal); again != normal {
			t.Fatalf("%q gives %q, and that gives %q", raw, normal, again)
		}
		if wrong := Check(normal); wrong != "" && len(normal) <= maxLength {
			t.Fatalf("%q gives %q, which %s", raw, normal, wrong)
		}
	})
}

func TestSibling(t *testing.T) {
	for from, want := range map[string]string{
		"https://api.example/mcp":     "https://api.example/mcp/",
		"https://api.example/mcp/":    "https://api.example/mcp",
		"https://api.example/mcp?a=/": "https://api.example/mcp/?a=/",
		"https://api.example/mcp//":   "https://api.example/mcp/",
	} {
		if got := Sibling(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}
