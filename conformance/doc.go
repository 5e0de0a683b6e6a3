// Package conformance checks an authorization server from outside, by HTTP, against the rules of the standards. It
// knows nothing about the code of the server, so it works with any issuer.
//
// Its parts, from the bottom up; calls go downwards only:
//
//	wire       sends requests, keeps the answers, masks secrets
//	browser    a browser without scripts: pages, forms, cookies
//	jose       JSON Web Tokens and keys, and forged tokens
//	need       what a check can need: clients by role, endpoints
//	target     the file that names a server, its user and its clients
//	check      rules and what their checks do: requests, codes, tokens, logouts
//	rules      the rules, one file for a document or a part of it
//	engine     runs the rules and reports the results
//
// The tests run the rules on the built server (servertest). Package faults proves that each rule can fail.
package conformance
