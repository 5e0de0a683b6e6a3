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

// The most expensive hashes that can be imported, of each scheme, cost at most two and a half times what bcrypt of cost
// 14 costs on the same machine. A change of a bound, or of a library, is noticed. What is measured is a hash of a
// quarter of the cost against bcrypt of cost 12: the work of each function is proportional to this parameter.
func TestImportedHashesCostNoMoreThan(t *testing.T) {
	testkit.NotShort(t, "a dozen hashes of a quarter of a second each")
	cost := func(stored string) time.Duration {
		parsed, err := parseImported(stored)
		if err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		begun := processorTime(t)
		parsed.matches("a few words in a row")
		return processorTime(t) - begun
	}
	unit := cost(fmt.Sprintf(bcryptOf, 12))
	for _, hash := range []struct {
		form          string
		most, quarter int // the parameter
		size          int
	}{
		{"argon2id$v=19$m=%d,t=4,p=1", 262144, 65536, 32}, {"argon2i$v=19$m=%d,t=4,p=16", 262144, 65536, 64},
		{"argon2id$v=19$m=16384,t=%d,p=16", 64, 16, 32}, {"argon2id$v=19$m=128,t=%d,p=16", 64, 16, 32},
		{"scrypt$ln=%d,r=8,p=1", 18, 16, 32}, {"scrypt$ln=%d,r=64,p=1", 15, 13, 64},
		{"scrypt$ln=%d,r=8,p=16", 14, 12, 32}, {"scrypt$ln=%d,r=64,p=16", 11, 9, 64},
		{"pbkdf2-sha256$%d", 3000000, 750000, 32}, {"pbkdf2-sha256$%d", 1500000, 375000, 64},
		{"pbkdf2-sha512$%d", 1000000, 250000, 64}, {"pbkdf2$%d", 750000, 187500, 64},
	} {
		most := phcOf(fmt.Sprintf(hash.form, hash.most), hash.size)
		_, err := parseImported(most)
		if err != nil {
			t.Errorf("%s: %v", most, err)
		}
		took := cost(phcOf(fmt.Sprintf(hash.form, hash.quarter), hash.size))
		t.Logf("%.40s: %s, %.1f times bcrypt", most, 4*took, float64(took)/float64(unit))
		if took > 5*unit/2 {
			t.Errorf("%s costs %s, and bcrypt of cost 14 %s", most, 4*took, 4*unit)
		}
	}
	// Its work is that of its small parameters alone, which cannot be divided by four.
	least := phcOf("scrypt$ln=1,r=64,p=16", 64)
	if took := cost(least); took > 5*unit/2 {
		t.Errorf("%s costs %s, and bcrypt of cost 12 %s", least, took, unit)
	}
}
