// Package conformance checks an authorization server from outside, over HTTP alone, rule by rule of the
// documents that it follows. It knows nothing of the server's code, so that it can be pointed at any issuer.
package conformance
