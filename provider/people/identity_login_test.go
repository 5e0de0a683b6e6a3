package people

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/seal"
)

// What a browser keeps while its person is at another server works for ten minutes, and nobody else can make it.
func TestTicketOfALeavingPerson(t *testing.T) {
	sealer, err := seal.New(make([]byte, 32), "identities")
	if err != nil {
		t.Fatal(err)
	}
	i := &Identities{tickets: sealer}
	synctest.Test(t, func(t *testing.T) {
		ticket, err := i.sealLeft(left{Server: "company", Next: "/account/", At: time.Now().Unix()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = i.open(ticket + "A")
		if err == nil {
			t.Error("an altered ticket is accepted")
		}
		time.Sleep(LeaveLife)
		kept, err := i.open(ticket)
		if err != nil || kept.Server != "company" || kept.Next != "/account/" {
			t.Errorf("%+v, %v", kept, err)
		}
		time.Sleep(time.Second)
		_, err = i.open(ticket)
		if err == nil {
			t.Error("an old ticket is accepted")
		}
	})
}
