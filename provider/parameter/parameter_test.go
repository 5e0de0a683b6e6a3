package parameter

import "testing"

// Every spelling that some server reads as the parameter is found, and no other.
func TestIn(t *testing.T) {
	for query, want := range map[string]bool{
		"_method=PUT":               true,
		"a&_method":                 true,
		"a;_method=PUT":             true,
		"%5fmethod=PUT":             true,
		"_METHOD=PUT":               true,
		".method=PUT":               true,
		"%2emethod=PUT":             true,
		"[method=PUT":               true,
		"%5Bmethod=PUT":             true,
		"+_method=PUT":              true,
		"%20%20_method=PUT":         true,
		"++method=PUT":              false,
		"_method%00=PUT":            true,
		"_method%00x=PUT":           true,
		".method%00%zz=PUT":         true,
		"_method[]=PUT":             true,
		"_method%5B%5D=PUT":         true,
		".method[a]=PUT":            true,
		"_method[%=PUT":             true,
		"":                          false,
		"method=PUT":                false,
		"x_method=PUT":              false,
		"_methods=PUT":              false,
		"_method_=PUT":              false,
		"_method%=PUT":              false,
		"_method%5=PUT":             false,
		"%00_method=PUT":            false,
		"a[_method]=PUT":            false,
		"a=_method":                 false,
		"a=%26_method=PUT":          false,
		"a=1&b=_method;c":           false,
		"%":                         false,
		"page.size=5&filter[name]=": false,
	} {
		if got := In(query, "other", "_method") == "_method"; got != want {
			t.Errorf("%q: got %t", query, got)
		}
	}
}
