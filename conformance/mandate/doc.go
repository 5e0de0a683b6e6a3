// Package mandate tests what Mandate promises beyond the specifications: pages in a
// browser, concurrency and crashes, third-party clients, and the steps of the README.
// Like all of conformance it sends HTTP requests. The server is the built binary, or a part
// of the process of the tests: MANDATE_TEST_PROCESS=all makes it the binary in every test.
package mandate
