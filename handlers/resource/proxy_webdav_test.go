package resource

import "testing"

// A method of WebDAV that is for a path and all below it must not reach what has a rule of its own.
//
// The class is CWE-863: one path is checked, and the action is for a tree (RFC 4918 §9.1, §9.8, §9.9,
// §9.10.3).
func TestAttackRecursiveMethodReachesAnotherRule(t *testing.T) {
	rules := func(c *ProxyConfig) {
		c.Rules = []Rule{
			{Path: "/", Scopes: []string{"read"}, PathAsWritten: true}, {Path: "/shared/private", Scopes: []string{"admin"}},
			{Path: "/plain", Scopes: []string{"read"}},
		}
	}
	for _, test := range []struct {
		request string
		headers []string
		want    int
	}{
		{"COPY /", []string{"Destination: /plain/a"}, 403},
		{"COPY /shared", []string{"Destination: /mine"}, 403},
		{"COPY /shared/", []string{"Destination: /mine"}, 403},
		{"COPY /SHARED", []string{"Destination: /mine"}, 403},
		{"COPY //shared", []string{"Destination: /mine"}, 403},
		{"COPY /shared", []string{"Destination: /mine", "Depth: infinity"}, 403},
		{"COPY /shared", []string{"Destination: /mine", "Depth: 0", "Depth: infinity"}, 403},
		{"MOVE /shared", []string{"Destination: /mine"}, 403},
		{"MOVE /shared", []string{"Destination: /mine", "Depth: 0"}, 403}, // RFC 4918 §9.9.2: MOVE has no other depth
		{"MOVE /mine", []string{"Destination: /shared"}, 403},             // deletes what is there
		{"MOVE /mine", []string{"Destination: /"}, 403},
		{"COPY /mine", []string{"Destination: /shared/", "Depth: 0"}, 403},
		// Some servers take what follows a question mark or a number sign for a part of the path.
		{"COPY /mine", []string{"Destination: /public?/../shared/private/a"}, 403},
		{"COPY /mine", []string{"Destination: https://api.example/public#/../shared/private/a"}, 403},
		{"COPY /mine", []string{"Destination: /public?"}, 403},
		{"COPY /mine", []string{"Destination: /public#"}, 403},
		{"COPY /mine", []string{"Destination: https://api.example"}, 403},
		{"PROPFIND /shared", nil, 403},
		{"PROPFIND /", []string{"Depth: 1"}, 403},
		{"PROPFIND /shared", []string{"Depth: infinity"}, 403},
		{"LOCK /shared", nil, 403},
		{"REPORT /shared", []string{"Depth: 1"}, 403},
		{"UPDATE /shared", []string{"Depth: infinity"}, 403},
		{"LABEL /shared", []string{"Depth: infinity"}, 403},

		{"PROPFIND /shared", []string{"Depth: 0"}, 200},
		{"PROPFIND /shared/public", nil, 200},
		{"PROPFIND /plain", []string{"Depth: infinity"}, 200},
		{"COPY /shared", []string{"Destination: /mine", "Depth: 0"}, 200},
		{"COPY /shared/public", []string{"Destination: /mine"}, 200},
		{"MOVE /mine", []string{"Destination: /shared/public"}, 200},
		{"MOVE /plain/a", []string{"Destination: /plain/b"}, 200},
		{"LOCK /shared", []string{"Depth: 0"}, 200},
		{"LABEL /shared", []string{"Depth: 0"}, 200},
		{"UPDATE /shared", nil, 200},
		{"REPORT /shared", nil, 200}, // RFC 3253 §3.6: without Depth it is for the path alone
		{"GET /shared", []string{"Depth: 1"}, 200},
		{"DELETE /shared", nil, 200},
	} {
		status, line, _ := arrives(t, rules, test.request, "read", test.headers...)
		if status != test.want || status != 200 && line != " " {
			t.Errorf("%s %q: %d, want %d; the upstream got %q", test.request, test.headers, status, test.want, line)
		}
	}
}

// An API beside the upstream is not reached by the second path of a request. The upstream of these tests is /v1.
//
// The class is CWE-22: a path leaves the directory to which it is limited (RFC 4918 §10.3).
func TestAttackDestinationBesideTheUpstream(t *testing.T) {
	for given, want := range map[string]string{
		"/v2/admin":                       "/v1/v2/admin",
		"/v1/a":                           "/v1/v1/a",
		"https://api.example:8443/v2/%41": "https://api.example:8443/v1/v2/%41",
		"http:/v2":                        "/v1/v2",
		"http://api.example/b":            "http://api.example/v1/b",
	} {
		status, line, header := arrives(t, func(c *ProxyConfig) { c.Rules = []Rule{{Path: "/", Scopes: []string{"read"}}} },
			"MOVE /a", "read", "Destination: "+given)
		if got := header.Get("Destination"); status != 200 || line != "MOVE /v1/a" || got != want {
			t.Errorf("%s: %d, the upstream got %q to %q, want %q", given, status, line, got, want)
		}
	}
}

// A header of an object store names another object, which no rule was applied to.
//
// The class is a confused deputy (CWE-441): the proxy checks the target, and the upstream reads the source.
func TestAttackSourceInAHeader(t *testing.T) {
	for _, header := range []string{
		"X-Amz-Copy-Source: /admin/a", "x-amz-copy-source: b", "X-Amz-Rename-Source: /admin/a",
		"X-Goog-Copy-Source: /admin/a", "X-Ms-Copy-Source: http://a.example/admin/a",
		"X-Ms-Rename-Source: /admin/a", "X-Copy-From: /admin/a", "X-Copy-From-Account: other", "X-Oss-Copy-Source: /admin/a",
		"X-Symlink-Target: admin/a", "X-Object-Manifest: admin/",
		"Destination-Account: other", "X-Oss-Symlink-Target: admin/a", "X-Upyun-Move-Source: /admin/a",
	} {
		if status, line, _ := arrives(t, nil, "GET /orders", "read", header); status != 403 || line != " " {
			t.Errorf("%s: %d, the upstream got %q", header, status, line)
		}
	}
	for _, header := range []string{"X-Amz-Copy-Source-If-Match: a", "X-Copy: a"} {
		if status, line, _ := arrives(t, nil, "GET /orders", "read", header); status != 200 || line == " " {
			t.Errorf("%s: %d, the upstream got %q", header, status, line)
		}
	}
}
