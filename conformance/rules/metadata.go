package rules

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// get8414 fetches the metadata. RFC 8414 §3: an application may use another suffix than oauth-authorization-server, and
// §5 names the address of OpenID Connect Discovery. If the server publishes its metadata only there, that document is
// read. Without any metadata the check is skipped.
func get8414(t *T) *wire.Answer {
	if t.MetadataAddress() == "" {
		t.Skipf("the rule applies to a server that publishes metadata: there is no JSON object with an issuer at %s",
			strings.Join(check.MetadataAddresses(t.Issuer()), ", "))
	}
	return t.Get(t.MetadataAddress())
}

// publishedMetadata returns the metadata of RFC 8414.
func publishedMetadata(t *T) check.Metadata { return metadataIn(t, get8414(t)) }

// bothDocuments returns the metadata of RFC 8414 and that of OpenID Connect Discovery. If the server does not publish
// both, the check is skipped.
func bothDocuments(t *T) (oauth, openid check.Metadata) {
	t.Require(need.OpenID)
	var both []check.Metadata
	for _, address := range []string{check.MetadataAddresses(t.Issuer())[0], discoveryAddress(t)} {
		a := t.Get(address)
		if !isMetadata(a) {
			t.Skipf("the rule applies to a server that publishes both metadata documents: %s answers %s", address, a)
		}
		both = append(both, a.JSON())
	}
	return both[0], both[1]
}

// isMetadata reports whether an answer contains metadata.
func isMetadata(a *wire.Answer) bool { return a.Status == http.StatusOK && a.JSON()["issuer"] != nil }

// wantWellKnown asserts that the metadata is at an address of RFC 8414.
func wantWellKnown(t *T) {
	addresses := check.MetadataAddresses(t.Issuer())
	a := get8414(t)
	if found := t.MetadataAddress(); found != addresses[0] && found != addresses[len(addresses)-1] {
		t.Skipf("the rule applies to a server that publishes metadata for OAuth: the metadata is only at %s, the address "+
			"of OpenID Connect Discovery, and not at %s (RFC 8414 §3)", found, addresses[0])
	}
	if a.Status/100 != 2 || a.JSON() == nil {
		t.Failf("GET %s is answered with %s and no JSON object", wire.Bare(a.URL), a)
	}
}

// wantBothAddresses asserts that the document of OpenID Connect Discovery is at both addresses that can be formed from
// an issuer with a path.
func wantBothAddresses(t *T) {
	t.Require(need.OpenID)
	addresses := check.MetadataAddresses(t.Issuer())
	if len(addresses) < 3 {
		t.Skipf("the rule applies to an issuer with a path")
	}
	for _, address := range addresses[1:] {
		if a := t.Get(address); !isMetadata(a) {
			t.At(a)
			t.Errorf("there is no metadata at %s: %s", address, a)
		}
	}
}

// getUnknown fetches the metadata of an issuer that does not exist, at the address that the server uses for its own.
func getUnknown(t *T) (issuer string, a *wire.Answer) {
	publishedMetadata(t)
	issuer = strings.TrimSuffix(t.Issuer(), "/") + "/conformance-unknown"
	own, others := check.MetadataAddresses(t.Issuer()), check.MetadataAddresses(issuer)
	switch t.MetadataAddress() {
	case own[0]:
		return issuer, t.Get(others[0])
	case own[len(own)-1]:
		return issuer, t.Get(others[len(others)-1])
	}
	return issuer, t.Get(others[1])
}

// metadataIn returns the metadata in a response. If there is none, the check is blocked.
func metadataIn(t *T, a *wire.Answer) check.Metadata {
	if a.Status != http.StatusOK || a.JSON() == nil {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	return a.JSON()
}

// wantOK asserts that the metadata has the status 200.
func wantOK(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	t.WantStatus(a, http.StatusOK)
}

// wantJSON asserts that the metadata has the type application/json.
func wantJSON(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	if a.MediaType() != "application/json" {
		t.Failf("the Content-Type is %q, want application/json", a.Header.Get("Content-Type"))
	}
}

// wantIssuerURL asserts the form of an issuer identifier.
func wantIssuerURL(t *T, issuer string) {
	if strings.ContainsAny(issuer, "?#") {
		t.Errorf("%s has a query or a fragment", issuer)
	}
	wantTLS(t, issuer)
}

// listMember matches the members that contain lists, in all documents that define metadata.
var listMember = regexp.MustCompile(`(^|_)(scopes|claims|locales|types|modes|methods|values)_supported$`)

// wantArrays asserts that the members with several values are arrays.
func wantArrays(t *T, m check.Metadata) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, is := m[name].([]any); listMember.MatchString(name) && !is {
			t.Errorf("%s is %s, want an array", name, Quoted(m[name]))
		}
	}
}

func wantNothingEmpty(t *T, m check.Metadata) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if list, is := m[name].([]any); is && len(list) == 0 {
			t.Errorf("%s is an empty array, want no such member", name)
		}
	}
}

func wantNamed(t *T, m check.Metadata, endpoint Need) {
	if m.Text(string(endpoint)) == "" {
		t.Failf("the metadata has no %s", endpoint)
	}
}

// wantSecure asserts that the metadata has an endpoint, and that it uses TLS.
func wantSecure(t *T, m check.Metadata, endpoint Need) {
	wantNamed(t, m, endpoint)
	wantTLS(t, m.Text(string(endpoint)))
}

// wantSecureIfNamed asserts that an optional endpoint uses TLS.
func wantSecureIfNamed(t *T, m check.Metadata, endpoint Need) {
	if m.Text(string(endpoint)) == "" {
		t.Skipf("the rule applies to a server whose metadata has %s, which is optional", endpoint)
	}
	wantTLS(t, m.Text(string(endpoint)))
}

func wantList(t *T, m check.Metadata, name string) {
	if m[name] == nil {
		t.Failf("the metadata has no %s", name)
	}
	if list, is := m.List(name); !is || len(list) == 0 || slices.Contains(list, "") {
		t.Failf("%s is %s, want a list of strings", name, Quoted(m[name]))
	}
}

// postOnly are the endpoints without GET.
var postOnly = []string{"token_endpoint", "introspection_endpoint", "revocation_endpoint", "registration_endpoint",
	"pushed_authorization_request_endpoint", "device_authorization_endpoint", "backchannel_authentication_endpoint"}

// wantEndpointsThere asserts that something answers at each address in the metadata. Which methods an endpoint of
// another document supports is unknown, so that 405 shows that it exists.
func wantEndpointsThere(t *T, m check.Metadata) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		address, post := m.Text(name), slices.Contains(postOnly, name)
		if !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" || !isURL(address) {
			continue
		}
		var a *wire.Answer
		if post {
			a = t.Post(address, nil)
		} else {
			a = t.Get(address)
		}
		if a.Status == http.StatusNotFound || a.Status == http.StatusGone || post && a.Status == http.StatusMethodNotAllowed {
			t.At(a)
			t.Errorf("%s is %s, which answers %s to %s", name, address, a, a.Method)
		}
	}
}

func wantPages(t *T, m check.Metadata) {
	for _, name := range []string{"service_documentation", "op_policy_uri", "op_tos_uri"} {
		address := m.Text(name)
		if address == "" || !t.AtServer(address) {
			continue // an address of another server is not fetched
		}
		if a := t.Get(address); a.Status >= http.StatusBadRequest {
			t.Errorf("%s answers %s", name, a)
		}
	}
}
