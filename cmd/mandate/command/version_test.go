package command

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionLine(t *testing.T) {
	repository := []debug.BuildSetting{{
		Key:   "vcs",
		Value: "git",
	}, {Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "false"}}
	modified := append(repository[:3:3], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{}, "mandate (devel), commit unknown, "},
		{debug.BuildInfo{
			Main:     debug.Module{Version: "v1.2.3"},
			Settings: repository,
		}, "mandate v1.2.3, commit 0123456789ab of 2026-01-02T03:04:05Z, "},
		{
			debug.BuildInfo{Settings: modified},
			"mandate (devel), commit 0123456789ab of 2026-01-02T03:04:05Z with uncommitted changes, ",
		},
	} {
		want := test.want + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
		if got := buildOf(&test.info, "").String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
