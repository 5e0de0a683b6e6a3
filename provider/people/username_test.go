package people

import "testing"

func TestReservedUsernames(t *testing.T) {
	for name, want := range map[string]bool{
		"admin": true, "Admin": true, "ＡＤＭＩＮ": true, " root ": true, "ad.min": true, "_admin_": true, "admin-2": true, "root2026": true, "Administrador": true, "no-reply": true, "system.administrator": true,
		"alice": false, "adminka": false, "badmin": false, "root@example.org": false, "rooter": false, "2026": false, "-": false, "": false, "su": false,
	} {
		if got := isReserved(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	for _, name := range reservedNames {
		if !isReserved(name) {
			t.Errorf("%q is written in another form", name)
		}
	}
}
