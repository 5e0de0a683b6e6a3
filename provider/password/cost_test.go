package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
)

// raw is an empty salt or hash in Base64 without padding.
func raw(n int) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }

func phcOf(scheme string, sum int) string { return "$" + scheme + "$" + raw(16) + "$" + raw(sum) }

const bcryptOf = "$2b$%02d$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0."

// CVE-2013-1443 (Django: a long password costs minutes) is of this class: whoever chooses the input of a hash chooses
// what each attempt at a password costs.
func TestAttackCostOfAnImportedHash(t *testing.T) {
	for _, stored := range []string{
		phcOf("scrypt$ln=1,r=1048576,p=4", 32), phcOf("scrypt$ln=1,r=1048576,p=1", 32), phcOf("scrypt$ln=1,r=65,p=1", 32),
		phcOf("scrypt$ln=18,r=8,p=2", 32), phcOf("scrypt$ln=19,r=8,p=1", 32),
		phcOf("scrypt$ln=2,r=64,p=17", 32), "scrypt$2$salt$1048576$4$" + base64.StdEncoding.EncodeToString(make([]byte, 64)),
		phcOf("argon2id$v=19$m=8,t=131072,p=1", 32), phcOf("argon2id$v=19$m=128,t=65,p=16", 32),
		phcOf("argon2i$v=19$m=262145,t=1,p=1", 32), phcOf("argon2i$v=19$m=262144,t=5,p=1", 32),
		phcOf("argon2id$v=19$m=1024,t=1,p=17", 32), phcOf("pbkdf2-sha512$1000001", 64), phcOf("pbkdf2-sha256$3000001", 32),
		phcOf("pbkdf2-sha256$1500001", 64), phcOf("pbkdf2$1500001", 40),
		fmt.Sprintf(bcryptOf, 15), fmt.Sprintf(bcryptOf, 31),
	} {
		err := CheckImported(stored)
		if !errors.Is(err, errCost) {
			t.Errorf("%s: %v", stored, err)
		}
	}
}
