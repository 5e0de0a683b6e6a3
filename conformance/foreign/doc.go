// Package foreign checks servers of other projects with the built command, and compares the results with what a person
// has confirmed by hand, in testdata. It proves that the rules are right about servers that they were not written for,
// and that the results are the same in each run.
//
// Every run of the tests checks oidc-provider. The other servers are large downloads: their tests have the build tag
// foreign, and `make foreign` runs them.
package foreign
