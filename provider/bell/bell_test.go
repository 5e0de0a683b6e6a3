package bell

import "testing"

func TestRingsOnceForWhoeverComesLater(t *testing.T) {
	b := New()
	for range 3 {
		b.Ring()
	}
	rung := 0
	for range 3 {
		select {
		case <-b:
			rung++
		default:
		}
	}
	if rung != 1 {
		t.Errorf("the bell has rung %d times for one listener, want 1", rung)
	}
	b.Ring()
	select {
	case <-b:
	default:
		t.Error("the bell does not ring again")
	}
}
