package testkit

import (
	"hash/fnv"
	"os"
)

// All reports whether the tests run in full, which takes hours: each flow on both databases, and each fault with the
// rules that it could change by mistake. MANDATE_TEST_ALL=true says so (make test-all).
func All() bool { return os.Getenv("MANDATE_TEST_ALL") == "true" }

// Databases returns the databases on which a flow is tested: one of the two, which its name chooses, so that a flow
// always meets the same and both have their share. The suite of storage holds that both behave alike.
func Databases(flow string) []string {
	both := []string{"sqlite", "postgres"}
	if All() {
		return both
	}
	hash := fnv.New32a()
	hash.Write([]byte(flow))
	chosen := hash.Sum32() % 2
	return both[chosen : chosen+1]
}
