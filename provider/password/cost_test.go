package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// raw is an empty salt or hash in Base64 without padding.
func raw(n int) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }

func phcOf(scheme string, sum int) string { return "$" + scheme + "$" + raw(16) + "$" + raw(sum) }

const bcryptOf = "$2b$%02d$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0."

// CVE-2013-1443 (Django: a long password costs minutes) is of this class: whoever chooses the input of a hash chooses what
// each attempt at a password costs.
func TestAttackCostOfAnImportedHash(t *testing.T) {
	for _, stored := range []string{
		phcOf("scrypt$ln=1,r=1048576,p=4", 32), phcOf("scrypt$ln=1,r=1048576,p=1", 32), phcOf("scrypt$ln=1,r=65,p=1", 32), phcOf("scrypt$ln=18,r=8,p=2", 32), phcOf("scrypt$ln=19,r=8,p=1", 32),
		phcOf("scrypt$ln=2,r=64,p=17", 32), "scrypt$2$salt$1048576$4$" + base64.StdEncoding.EncodeToString(make([]byte, 64)),
		phcOf("argon2id$v=19$m=8,t=131072,p=1", 32), phcOf("argon2id$v=19$m=128,t=65,p=16", 32), phcOf("argon2i$v=19$m=262145,t=1,p=1", 32), phcOf("argon2i$v=19$m=262144,t=5,p=1", 32),
		phcOf("argon2id$v=19$m=1024,t=1,p=17", 32), phcOf("pbkdf2-sha512$1000001", 64), phcOf("pbkdf2-sha256$3000001", 32), phcOf("pbkdf2-sha256$1500001", 64), phcOf("pbkdf2$1500001", 40),
		fmt.Sprintf(bcryptOf, 15), fmt.Sprintf(bcryptOf, 31),
	} {
		err := CheckImported(stored)
		if !errors.Is(err, errCost) {
			t.Errorf("%s: %v", stored, err)
		}
	}
}

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
	if testing.Short() {
		t.Skip("it computes a dozen hashes of a second each")
	}
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
		phcOf("argon2id$v=19$m=262144,t=4,p=1", 32), phcOf("argon2i$v=19$m=262144,t=4,p=16", 64), phcOf("argon2id$v=19$m=16384,t=64,p=16", 32), phcOf("argon2id$v=19$m=128,t=64,p=16", 32),
		phcOf("scrypt$ln=18,r=8,p=1", 32), phcOf("scrypt$ln=15,r=64,p=1", 64), phcOf("scrypt$ln=14,r=8,p=16", 32), phcOf("scrypt$ln=11,r=64,p=16", 32), phcOf("scrypt$ln=1,r=64,p=16", 64),
		phcOf("pbkdf2-sha256$3000000", 32), phcOf("pbkdf2-sha256$1500000", 64), phcOf("pbkdf2-sha512$1000000", 64), phcOf("pbkdf2$750000", 64),
	} {
		took := cost(stored)
		t.Logf("%.40s: %s, %.1f times bcrypt of cost 14", stored, took, float64(took)/float64(unit))
		if took > 5*unit/2 {
			t.Errorf("%s costs %s, and bcrypt of cost 14 %s", stored, took, unit)
		}
	}
}
