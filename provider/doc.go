// Package provider makes every protocol decision. It takes a request and returns a value
// or an *Error; it writes no response. Provider composes the packages below this one:
//
//	flows       authorize, grant, logout
//	components  clients, people, tokens, keys, limits
//	shared      policy, oauth, pkce, framework
//	leaves      seal, password, throttle, outbound, jose, redirect, copies
//
// Imports go from the flows to the leaves, never back. Only framework, authorize and grant
// know fosite, whose last release is frozen: its sound parts are used through their public
// interfaces, and the others are replaced here.
package provider
