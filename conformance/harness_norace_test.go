//go:build !race

package conformance

// raceDetector: the binary under test is built as the tests are.
const raceDetector = false
