// Package mandate tests what Mandate promises beyond the specifications: pages in a
// browser, concurrency and crashes, third-party clients, and the steps of the README.
// Like all of conformance it sends HTTP requests to the built binary and imports none
// of the server's code.
package mandate
