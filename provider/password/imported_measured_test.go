//go:build !race

// The test calls one hash function after the other, so that the race detector has nothing to find in it. It would take
// most of its time.

package password

import "testing"

// The hashes that Django, argon2-cffi, bcrypt and passlib make are verified, and are to be replaced.
func TestImportedHashes(t *testing.T) {
	p := New(Cost{64, 1}, 0)
	schemes := map[string]bool{}
	for _, v := range vectors(t) {
		seen := schemes[v.scheme]
		if seen && testing.Short() {
			continue
		}
		schemes[v.scheme] = true
		if err := CheckImported(v.hash); err != nil {
			t.Errorf("%s: %v", v.scheme, err)
		}
		for password, want := range map[string]bool{v.password: true, v.password[1:]: false, "": false} {
			if !want && (seen || testing.Short()) {
				continue // they take their time, and one scheme treats all wrong passwords alike
			}
			ok, stale, err := p.Matches(t.Context(), v.hash, password)
			if ok != want || stale != want || err != nil {
				t.Errorf("%s, %q: %t, %t, %v", v.scheme, password, ok, stale, err)
			}
		}
	}
	if len(schemes) < 16 {
		t.Errorf("%d schemes", len(schemes))
	}
}
