package programs

import (
	"os"
	"testing"

	"mandate/conformance/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
