//go:build !race

// With the race detector some of these functions take three times as long, and others do not.

package password

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"mandate/testkit"
)

// processorTime is what this process has used of all processors: how busy the machine is makes little difference.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// The most expensive hashes that can be imported, of each scheme. What they cost is measured against bcrypt on the same
// machine: a change of a bound, or of a library, is noticed.
func TestImportedHashesCostNoMoreThan(t *testing.T) {
	testkit.NotShort(t, "a dozen hashes of a second each")
	cost := func(stored string) time.Duration {
		parsed, err := parseImported(stored)
		if err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		begun := processorTime(t)
		parsed.matches("a few words in a row")
		return processorTime(t) - begun
	}
	unit := 4 * cost(fmt.Sprintf(bcryptOf, 12))
	for _, stored := range []string{
		phcOf("argon2id$v=19$m=262144,t=4,p=1", 32), phcOf("argon2i$v=19$m=262144,t=4,p=16", 64),
		phcOf("argon2id$v=19$m=16384,t=64,p=16", 32), phcOf("argon2id$v=19$m=128,t=64,p=16", 32),
		phcOf("scrypt$ln=18,r=8,p=1", 32), phcOf("scrypt$ln=15,r=64,p=1", 64), phcOf("scrypt$ln=14,r=8,p=16", 32),
		phcOf("scrypt$ln=11,r=64,p=16", 32), phcOf("scrypt$ln=1,r=64,p=16", 64),
		phcOf("pbkdf2-sha256$3000000", 32), phcOf("pbkdf2-sha256$1500000", 64), phcOf("pbkdf2-sha512$1000000", 64),
		phcOf("pbkdf2$750000", 64),
	} {
		took := cost(stored)
		t.Logf("%.40s: %s, %.1f times bcrypt of cost 14", stored, took, float64(took)/float64(unit))
		if took > 5*unit/2 {
			t.Errorf("%s costs %s, and bcrypt of cost 14 %s", stored, took, unit)
		}
	}
}
