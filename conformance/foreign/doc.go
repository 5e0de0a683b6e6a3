// Package foreign checks servers of other projects with the built command, and compares the results with what a person
// has confirmed by hand, in testdata. It proves that the rules are right about servers that they were not written for,
// and that the results are the same in each run.
//
// Most of its tests need a server that is downloaded first. They have the build tag foreign: `make foreign` runs them.
package foreign
