//go:build foreign

package programs

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"
)

// streamlit is a page of Streamlit, whose scripts people need to sign in.
var streamlit = program{
	name: "Streamlit, st.login", version: pythonVersion("streamlit", "streamlit"), preset: "streamlit", login: "/",
	shows: complete, foreign: true,
	start: func(t *testing.T, s *site) *exec.Cmd {
		app, err := filepath.Abs(filepath.Join("testdata", "streamlit", "app.py"))
		hidden := filepath.Join(s.folder, ".streamlit")
		err = errors.Join(
			err,
			os.Mkdir(hidden, 0o700),
			os.WriteFile(filepath.Join(hidden, "secrets.toml"), []byte(s.printed), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(s.address, ":")
		cmd := withPython(
			t,
			"streamlit",
			"-m",
			"streamlit",
			"run",
			app,
			"--server.address",
			host,
			"--server.port",
			port,
			"--server.headless",
			"true",
			"--browser.gatherUsageStats",
			"false",
			"--global.developmentMode",
			"false",
		) // its guess, outside of site-packages
		cmd.Dir = s.folder
		return cmd
	},
}

func TestForeignStreamlit(t *testing.T) {
	t.Parallel()
	inBrowser := chromium(t)
	s := streamlit.run(t)
	button := func(label string) chromedp.Action[chromedp.Void] {
		return chromedp.Click(chromedp.Search("//button[contains(., '" + label + "')]"))
	}
	w := tab(t, inBrowser)
	w.open(s.url("/"))
	w.signIn(button("Log in"))
	w.wantText("[data-testid=stText]")
	w.run(button("Log out"), button("Log in"))
	streamlit.wantVerified(t)
	streamlit.record(t)
}

// wantText waits until the page shows alice in an element.
func (w *window) wantText(selector string) {
	w.Helper()
	w.run(chromedp.WaitVisible(chromedp.CSS(selector)))
	text, err := chromedp.Run(w.ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		w.Fatal(err)
	}
	var got person
	err = json.Unmarshal([]byte(text), &got)
	if err != nil {
		w.Fatalf("%v: %s", err, text)
	}
	slices.Sort(got.Groups)
	if diff := gocmp.Diff(complete, got); diff != "" {
		w.Errorf("the program does not show what Mandate knows (-want +got):\n%s", diff)
	}
}
