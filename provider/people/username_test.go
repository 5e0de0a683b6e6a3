package people

import "testing"

func TestReservedUsernames(t *testing.T) {
	for name, want := range map[string]bool{
		"admin": true, "Admin": true, "ＡＤＭＩＮ": true, " root ": true, "ad.min": true, "_admin_": true, "admin-2": true,
		"root2026": true, "Administrador": true, "no-reply": true, "system.administrator": true,
		// Programs that allow ASCII alone write others without marks, in capitals, or leave them out (CVE-2019-19844
		// is of this class).
		"\u00e0dmin": true, "ADM\u0130N": true, "adm\u0131n": true, "r\u00f6\u00f6t": true, "admin\u6f22": true,
		"admin\u0662": true, "admin\u0301": true,
		"se\u00f1or": false, "\u0430\u043d\u043d\u0430": false, "\u6f22": false,
		"alice": false, "adminka": false, "badmin": false, "root@example.org": false, "rooter": false, "2026": false,
		"-": false, "": false, "su": false,
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
