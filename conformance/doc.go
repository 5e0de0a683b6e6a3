// Package conformance checks an authorization server from outside, over HTTP alone. It knows nothing of the
// server's code, so that it can be pointed at any issuer.
package conformance
