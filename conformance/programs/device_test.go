//go:build foreign

package programs

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mandate/conformance/browser"
	"mandate/conformance/servertest"
)

// device is a command line program, which people register as docs/devices.md says. It reads groups in the ID token
// alone.
var device = program{
	name: "Device flow with golang.org/x/oauth2 and go-oidc", version: goVersion("device", "golang.org/x/oauth2"),
	foreign: true,
	grant:   "urn:ietf:params:oauth:grant-type:device_code",
	flags:   []string{"--client-type", "public", "--claims-in-id-token", "on"}, shows: complete,
}

func TestForeignDevice(t *testing.T) {
	t.Parallel()
	s := startServer(t, false)
	id, _ := s.register(t, device)
	v := newVisitor(t, s)
	for range 2 { // people approve each device, also one that they know
		cmd := exec.CommandContext(t.Context(), fromGo(t, "device", "."))
		cmd.Env = append(servertest.Environment(), "ISSUER="+s.issuer, "CLIENT_ID="+id)
		var said bytes.Buffer
		cmd.Stderr = &said
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		screen := json.NewDecoder(stdout)
		var shown struct{ Address, Code string }
		err = screen.Decode(&shown)
		if err != nil {
			t.Fatalf("the program asks for no login: %v", err)
		}
		v.approve(t, shown.Address, shown.Code)
		var got person
		read := screen.Decode(&got)
		err = cmd.Wait()
		if read != nil || err != nil {
			t.Fatalf("%v, %v: %s", read, err, &said)
		}
		slices.Sort(got.Groups)
		if diff := gocmp.Diff(device.shows, got); diff != "" {
			t.Errorf("the program does not show what Mandate knows (-want +got):\n%s", diff)
		}
	}
	device.record(t)
}

// approve opens the address that a device shows, signs in if Mandate asks for that, enters the code and approves.
func (v *visitor) approve(t *testing.T, address, code string) {
	t.Helper()
	v.check(t, v.Open(address))
	page := browser.Parse(v.Page)
	if page.AsksPassword(browser.Hints{}) {
		v.check(t, v.Submit(v.fill(t, page)))
		page = browser.Parse(v.Page)
	}
	form, button := page.AsksCode()
	if form == nil {
		t.Fatalf("Mandate asks for no code: %s", page.Text)
	}
	form.Values.Set(form.Code().Name, code)
	form.Press(button)
	v.check(t, v.Submit(form))
	v.check(t, v.Submit(v.fill(t, browser.Parse(v.Page))))
}
