package testkit

import (
	"hash/fnv"
	"os"
)

// Databases returns the databases on which a flow is tested: one of the two, which its name chooses, so that a flow always
// meets the same and both have their share. The suite of storage holds that both behave alike.
// MANDATE_TEST_DATABASES=all makes it both.
func Databases(flow string) []string {
	both := []string{"sqlite", "postgres"}
	if os.Getenv("MANDATE_TEST_DATABASES") == "all" {
		return both
	}
	hash := fnv.New32a()
	hash.Write([]byte(flow))
	chosen := hash.Sum32() % 2
	return both[chosen : chosen+1]
}
