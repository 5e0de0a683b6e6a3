//go:build !race

package mandate

// raceDetector: the binary under test is built as the tests are.
const raceDetector = false
