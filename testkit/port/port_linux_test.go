package port

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// some of the ports, so few that a process can keep their marks, and so many that two processes would take the same
// ones.
const some = 200

func TestMain(m *testing.M) {
	if os.Getenv("PORT_TEST_ALL") != "" {
		for range some {
			os.Stdout.WriteString(Address() + "\n")
		}
		os.Stdin.Read(make([]byte, 1)) // until the test ends
		return
	}
	os.Exit(m.Run())
}

// TestNoOtherProcessGetsThePort lets several processes take ports that nobody listens on yet.
func TestNoOtherProcessGetsThePort(t *testing.T) {
	taken := map[string]bool{}
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PORT_TEST_ALL=yes")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		text := make([]byte, 0, 1<<16)
		for strings.Count(string(text), "\n") < some {
			n, err := out.Read(text[len(text):cap(text)])
			if err != nil {
				t.Fatal(err)
			}
			text = text[:len(text)+n]
		}
		for _, address := range strings.Fields(string(text)) {
			if taken[address] {
				t.Fatalf("%s was given out twice", address)
			}
			taken[address] = true
		}
	}
}

func TestThePortIsFree(t *testing.T) {
	l, err := net.Listen("tcp", Address())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
