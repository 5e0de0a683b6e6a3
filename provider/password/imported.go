package password

import (
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/scrypt"
)

// An imported hash was made by another program. It is verified with its own scheme, and replaced by one of ours at the
// first right password.

// The highest cost of an imported hash: as much as bcrypt of cost 14 or less, which is about a second of one processor.
// A file of hashes must not be able to make every sign-in slow. The numbers were measured, because no parameter alone
// says what a hash costs; TestImportedHashesCostNoMoreThan measures them again.
const (
	maxImportedKiB        = 256 << 10 // memory of one hash
	maxImportedWork       = 1 << 20   // memory times passes of Argon2, in KiB
	maxImportedPasses     = 64        // of Argon2: each starts four goroutines for each lane, however small the memory is
	maxScryptWork         = 256 << 10 // memory times lanes of scrypt, in KiB
	maxScryptBlock        = 64        // r of scrypt: its first and last step hash 128·r·p bytes, whatever N is
	maxImportedLanes      = 16
	maxImportedBcrypt     = 14
	maxImportedIterations = 3_000_000 // of PBKDF2 with SHA-1 or SHA-256
	maxSHA512Iterations   = 1_000_000 // of PBKDF2 with SHA-512
	// The sizes of a salt and of a hash, in bytes.
	maxImportedSalt                = 128
	minImportedSum, maxImportedSum = 16, 64
)

var (
	errScheme = errors.New("it is not a hash of a supported scheme")
	errCost   = errors.New("it costs more than a sign-in may")
	errForm   = errors.New("it does not have the form of its scheme")
)

// imported is a hash of another program.
type imported struct {
	memoryKiB uint32
	sum       func(password string) []byte
	want      []byte
	bcrypt    string // the hash, if the scheme is bcrypt: then sum returns the password that it is of
}

// matches computes the hash.
func (h imported) matches(password string) bool {
	if h.bcrypt != "" {
		return bcrypt.CompareHashAndPassword([]byte(h.bcrypt), h.sum(password)) == nil
	}
	return subtle.ConstantTimeCompare(h.sum(password), h.want) == 1
}

// CheckImported returns nil if a hash of another program can be imported. The error does not contain the hash.
func CheckImported(stored string) error {
	_, err := parseImported(stored)
	return err
}

// Schemes lists the schemes of hashes that can be imported.
func Schemes() []string {
	return []string{"bcrypt ($2a$, $2b$, $2y$)", "Argon2id and Argon2i ($argon2id$, $argon2i$)", "scrypt ($scrypt$)",
		"PBKDF2 ($pbkdf2-sha256$, $pbkdf2-sha512$, $pbkdf2$)",
		"Django's pbkdf2_sha256, pbkdf2_sha1, argon2, bcrypt, bcrypt_sha256 and scrypt"}
}

// parseImported reads a hash of another program.
func parseImported(stored string) (imported, error) {
	name, rest, _ := strings.Cut(stored, "$")
	switch name {
	case "":
		return parseModular(stored)
	// The schemes of Django: a name, and then what the scheme needs.
	case "pbkdf2_sha256":
		return parseDjangoPBKDF2(rest, sha256.New)
	case "pbkdf2_sha1":
		return parseDjangoPBKDF2(rest, sha1.New)
	case "scrypt":
		return parseDjangoScrypt(rest)
	case "argon2":
		return parseModular("$" + rest)
	case "bcrypt":
		return parseBcrypt(rest, false)
	case "bcrypt_sha256":
		return parseBcrypt(rest, true)
	}
	return imported{}, errScheme
}

// parseModular reads a hash that begins with the name of its scheme between two dollar signs.
func parseModular(stored string) (imported, error) {
	parts := strings.Split(stored, "$")
	if len(parts) < 4 {
		return imported{}, errScheme
	}
	switch parts[1] {
	case "2a", "2b", "2y":
		return parseBcrypt(stored, false)
	case "argon2id", "argon2i":
		return parseArgon2(parts)
	case "scrypt":
		return parsePassScrypt(parts)
	case "pbkdf2":
		return parsePassPBKDF2(parts, sha1.New)
	case "pbkdf2-sha256":
		return parsePassPBKDF2(parts, sha256.New)
	case "pbkdf2-sha512":
		return parsePassPBKDF2(parts, sha512.New)
	}
	return imported{}, errScheme
}

var bcryptForm = regexp.MustCompile(`^\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}$`)

// parseBcrypt reads a bcrypt hash: of the password, or of its SHA-256 in hexadecimal, which has no limit of 72 bytes.
func parseBcrypt(stored string, digested bool) (imported, error) {
	form := bcryptForm.FindStringSubmatch(stored)
	if form == nil {
		return imported{}, errForm
	}
	cost, _ := strconv.Atoi(form[1]) // two digits
	if cost > maxImportedBcrypt {
		return imported{}, errCost
	}
	if cost < bcrypt.MinCost {
		return imported{}, errForm
	}
	return imported{bcrypt: stored, sum: func(password string) []byte {
		if !digested {
			return []byte(password)
		}
		sum := sha256.Sum256([]byte(password))
		return []byte(hex.EncodeToString(sum[:]))
	}}, nil
}

// parseArgon2 reads the PHC string of an Argon2 hash.
func parseArgon2(parts []string) (imported, error) {
	if len(parts) != 6 || parts[2] != "v=19" {
		return imported{}, errForm
	}
	numbers, err := readNumbers(parts[3], "m", "t", "p")
	if err != nil {
		return imported{}, err
	}
	salt, want, err := saltAndSum(base64.RawStdEncoding, parts[4], parts[5])
	if err != nil {
		return imported{}, err
	}
	memory, passes, lanes := numbers[0], numbers[1], numbers[2]
	if passes < 1 || lanes < 1 || memory < 8*lanes {
		return imported{}, errForm
	}
	if memory > maxImportedKiB || lanes > maxImportedLanes || passes > maxImportedPasses ||
		memory*passes > maxImportedWork {
		return imported{}, errCost
	}
	compute := argon2.IDKey
	if parts[1] == "argon2i" {
		compute = argon2.Key
	}
	return imported{memoryKiB: uint32(memory), want: want, sum: func(password string) []byte {
		return compute([]byte(password), salt, uint32(passes), uint32(memory), uint8(lanes), uint32(len(want)))
	}}, nil
}

// parsePassScrypt reads a hash of passlib's scrypt.
func parsePassScrypt(parts []string) (imported, error) {
	if len(parts) != 5 {
		return imported{}, errForm
	}
	numbers, err := readNumbers(parts[2], "ln", "r", "p")
	if err != nil {
		return imported{}, err
	}
	salt, want, err := saltAndSum(base64.RawStdEncoding, parts[3], parts[4])
	if err != nil || numbers[0] > 62 {
		return imported{}, errForm
	}
	return newScrypt(salt, want, 1<<numbers[0], numbers[1], numbers[2])
}

// parseDjangoScrypt reads N, the salt as text, r, p and the hash.
func parseDjangoScrypt(rest string) (imported, error) {
	parts := strings.Split(rest, "$")
	if len(parts) != 5 {
		return imported{}, errForm
	}
	var numbers [3]uint64
	for i, text := range []string{parts[0], parts[2], parts[3]} {
		n, err := number(text)
		if err != nil {
			return imported{}, err
		}
		numbers[i] = n
	}
	want, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || !isSum(want) || len(parts[1]) > maxImportedSalt {
		return imported{}, errForm
	}
	return newScrypt([]byte(parts[1]), want, numbers[0], numbers[1], numbers[2])
}

func newScrypt(salt, want []byte, n, r, p uint64) (imported, error) {
	if n < 2 || n&(n-1) != 0 || r < 1 || p < 1 {
		return imported{}, errForm
	}
	// RFC 7914 §2: the memory is 128·N·r bytes.
	const most = maxImportedKiB << 10 / 128
	if n > most || r > maxScryptBlock || r > most/n || p > maxImportedLanes || n*r*p/8 > maxScryptWork {
		return imported{}, errCost
	}
	return imported{memoryKiB: uint32(n * r / 8), want: want, sum: func(password string) []byte {
		sum, err := scrypt.Key([]byte(password), salt, int(n), int(r), int(p), len(want))
		if err != nil { // the parameters are valid
			return nil
		}
		return sum
	}}, nil
}

// parseDjangoPBKDF2 reads the iterations, the salt as text, and the hash.
func parseDjangoPBKDF2(rest string, of func() hash.Hash) (imported, error) {
	parts := strings.Split(rest, "$")
	if len(parts) != 3 || len(parts[1]) > maxImportedSalt {
		return imported{}, errForm
	}
	want, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || !isSum(want) {
		return imported{}, errForm
	}
	return newPBKDF2(parts[0], []byte(parts[1]), want, of)
}

// parsePassPBKDF2 reads a hash of passlib's pbkdf2, whose Base64 has a dot in place of the plus sign.
func parsePassPBKDF2(parts []string, of func() hash.Hash) (imported, error) {
	if len(parts) != 5 {
		return imported{}, errForm
	}
	plus := func(text string) string { return strings.ReplaceAll(text, ".", "+") }
	salt, want, err := saltAndSum(base64.RawStdEncoding, plus(parts[3]), plus(parts[4]))
	if err != nil {
		return imported{}, err
	}
	return newPBKDF2(parts[2], salt, want, of)
}

func newPBKDF2(iterations string, salt, want []byte, of func() hash.Hash) (imported, error) {
	n, err := number(iterations)
	if err != nil {
		return imported{}, err
	}
	if n < 1 {
		return imported{}, errForm
	}
	// A longer hash than that of the function takes the iterations again for each part of it (RFC 8018 §5.2).
	parts := (len(want) + of().Size() - 1) / of().Size()
	most := uint64(maxImportedIterations)
	if of().Size() > sha256.Size {
		most = maxSHA512Iterations
	}
	if n*uint64(parts) > most {
		return imported{}, errCost
	}
	return imported{want: want, sum: func(password string) []byte {
		sum, err := pbkdf2.Key(of, password, salt, int(n), len(want))
		if err != nil { // the parameters are valid
			return nil
		}
		return sum
	}}, nil
}

// readNumbers reads numbers with these names, such as m=65536,t=3,p=4.
func readNumbers(text string, names ...string) ([]uint64, error) {
	parts := strings.Split(text, ",")
	if len(parts) != len(names) {
		return nil, errForm
	}
	numbers := make([]uint64, len(names))
	for i, part := range parts {
		value, ok := strings.CutPrefix(part, names[i]+"=")
		if !ok {
			return nil, errForm
		}
		n, err := number(value)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

// number reads a number of at most ten digits.
func number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || text != fmt.Sprint(n) {
		return 0, errForm
	}
	if len(text) > 10 {
		return 0, errCost
	}
	return n, nil
}

func saltAndSum(of *base64.Encoding, salt, sum string) (rawSalt, rawSum []byte, err error) {
	rawSalt, err = of.DecodeString(salt)
	if err == nil {
		rawSum, err = of.DecodeString(sum)
	}
	if err != nil || len(rawSalt) > maxImportedSalt || !isSum(rawSum) {
		return nil, nil, errForm
	}
	return rawSalt, rawSum, nil
}

func isSum(sum []byte) bool { return len(sum) >= minImportedSum && len(sum) <= maxImportedSum }
