package dpop

import "testing"

func TestNormal(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example":                        "https://a.example/",
		"https://a.example/":                       "https://a.example/",
		"HTTPS://A.Example/Path":                   "https://a.example/Path",
		"https://a.example:443/x":                  "https://a.example/x",
		"http://a.example:80/x":                    "http://a.example/x",
		"https://a.example:80/x":                   "https://a.example:80/x",
		"http://a.example:443/x":                   "http://a.example:443/x",
		"https://a.example:/x":                     "https://a.example/x",
		"https://a.example:8443/x":                 "https://a.example:8443/x",
		"https://[2001:DB8::1]:443/x":              "https://[2001:db8::1]/x",
		"https://[2001:DB8::1]:8443/x":             "https://[2001:db8::1]:8443/x",
		"https://a.example/x?q=1#f":                "https://a.example/x",
		"https://a.example/x#f?q":                  "https://a.example/x",
		"https://a.example?q":                      "https://a.example/",
		"https://a.example/x/":                     "https://a.example/x/",
		"https://a.example//x":                     "https://a.example//x",
		"https://a.example/%7euser/%41%2d%5f":      "https://a.example/~user/A-_",
		"https://a.example/a%2fb%3F":               "https://a.example/a%2Fb%3F",
		"https://a.example/%2541":                  "https://a.example/%2541",
		"https://a.example/%c3%a4":                 "https://a.example/%C3%A4",
		"https://a.example/a/./b":                  "https://a.example/a/b",
		"https://a.example/a/../b":                 "https://a.example/b",
		"https://a.example/a/b/..":                 "https://a.example/a/",
		"https://a.example/a/b/.":                  "https://a.example/a/b/",
		"https://a.example/..":                     "https://a.example/",
		"https://a.example/../../x":                "https://a.example/x",
		"https://a.example/a/%2e%2E/b":             "https://a.example/b",
		"https://a.example/.a/..b/...":             "https://a.example/.a/..b/...",
		"https://a.example/a//../b":                "https://a.example/a/b",
		"https://a.example/a;p=1/@:!$&'()*+,=":     "https://a.example/a;p=1/@:!$&'()*+,=",
		"":                                         "",
		"/x":                                       "",
		"//a.example/x":                            "",
		"https:":                                   "",
		"https:/x":                                 "",
		"https:///x":                               "",
		"https://:443/x":                           "",
		"https:a.example":                          "",
		"ftp://a.example/":                         "",
		"https://user@a.example/":                  "",
		"https://@a.example/":                      "",
		"https://a.example/%4":                     "",
		"https://a.example/%zz":                    "",
		"https://a.example/a b":                    "",
		"https://a.example/\u00e4":                 "",
		"https://\u212aelvin.example/":             "",
		"https://%E2%84%AAelvin.example/":          "",
		"https://[fe80::1%25eth0]/":                "",
		"https://a.example\\@b.example/":           "",
		"https://a.example/\n":                     "",
		"https://a.example:port/":                  "",
		"https://server.example/a/../../../token/": "https://server.example/token/",
	} {
		if got := Normal(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, seed := range []string{"https://a.example/%7e/../x?q#f", "HTTP://[::1]:80", "https://a/%2e%2e/.",
		"https://a//..//%2541"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once := Normal(raw)
		if once != "" && Normal(once) != once {
			t.Errorf("%q becomes %q, and that becomes %q", raw, once, Normal(once))
		}
	})
}
