package conformance

import (
	"os"
	"testing"

	"mandate/conformance/servertest"
)

// The rules of a document run at the same time on one server, which has the race detector.
func TestMain(m *testing.M) {
	servertest.Watched = true
	os.Exit(servertest.Main(m))
}
