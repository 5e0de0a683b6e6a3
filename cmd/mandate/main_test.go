package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mandate/storage/postgrestest"
	"mandate/testkit/port"
)

func TestMain(m *testing.M) {
	testscript.Main(withPostgres{m}, map[string]func(){"mandate": main})
}

// withPostgres stops the PostgreSQL server that the tests share.
type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return postgrestest.Main(w.m) }

// TestScripts runs testdata/script, which has one file for each command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("PORT", strconv.Itoa(port.Free()))
			env.Setenv("PORT2", strconv.Itoa(port.Free()))
			env.Setenv("PORT3", strconv.Itoa(port.Free()))
			env.Setenv("PORT4", strconv.Itoa(port.Free()))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": exitCode, "fetch": fetch, "member": member, "mode": mode, "outlives": outlives, "activated": activated,
		},
	})
}

// exitCode runs a command that must end with an exit code: code 2 mandate user
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// fetch sends a request to a server, which may still be starting, and prints the
// response: fetch 200 URL [name=value...]. The names bearer and basic set the
// Authorization header. Other names make it a POST request with a form.
func fetch(ts *testscript.TestScript, _ bool, args []string) {
	form, method := url.Values{}, http.MethodGet
	header := http.Header{}
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "bearer":
			header.Set("Authorization", "Bearer "+value)
		case "basic":
			id, secret, _ := strings.Cut(value, ":")
			r := http.Request{Header: header}
			r.SetBasicAuth(id, secret)
		default:
			form.Add(name, value)
			method = http.MethodPost
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	var answer *http.Response
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.NewRequest(method, args[1], strings.NewReader(form.Encode()))
		ts.Check(err)
		r.Header = header
		answer, err = http.DefaultTransport.RoundTrip(r)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			ts.Check(err)
		}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	_, _ = ts.Stdout().Write(body)
	if strconv.Itoa(answer.StatusCode) != args[0] {
		ts.Fatalf("%s: status %d, want %s:\n%s", args[1], answer.StatusCode, args[0], body)
	}
}

// member stores a member of the last printed JSON object in a variable: member
// client_id ID
func member(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	value, ok := object[args[0]]
	if !ok {
		ts.Fatalf("there is no member %s", args[0])
	}
	ts.Setenv(args[1], fmt.Sprint(value))
}

// mode checks the permissions of a file: mode 600 FILE
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
