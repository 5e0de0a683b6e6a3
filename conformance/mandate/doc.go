// Package mandate tests what Mandate promises beyond the documents: its pages in a browser, races and
// crashes, clients of others, the walks of its README. Like all of conformance it speaks HTTP to the built
// binary and knows nothing of the server's code.
package mandate
