// Package provider makes every protocol decision of the server. It takes a request and returns
// a value or an *Error. It writes no response. Provider combines the packages below this one,
// and their package comments name the documents that they implement. This package itself
// implements the metadata documents (RFC 8414, OIDC Discovery). docs/architecture.md lists the
// packages and the direction of their imports.
//
// Only framework, authorize, grant and this package import fosite. Its last release is frozen,
// so the server uses the parts of fosite that have no known defects, and replaces the others.
package provider
