package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says from what this program was built. The date is that of the commit:
// the Go command records no other, so that a commit always gives the same program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // empty if the program was built outside of a repository
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified"` // the source had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program, its commit and the date of the commit",
		Args:  arguments(),
		RunE: func(*cobra.Command, []string) error {
			b := p.build()
			if asJSON {
				return writeJSON(p.Stdout, b)
			}
			_, err := fmt.Fprintln(p.Stdout, b)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) build() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, p.Version)
}

func buildOf(info *debug.BuildInfo, version string) build {
	b := build{
		Version:  cmp.Or(version, info.Main.Version, "(devel)"),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is one line for a person.
func (b build) String() string {
	commit := "commit unknown"
	if b.Commit != "" {
		commit = fmt.Sprintf("commit %.12s of %s", b.Commit, cmp.Or(b.Date, "an unknown date"))
	}
	if b.Modified {
		commit += " with uncommitted changes"
	}
	return fmt.Sprintf("mandate %s, %s, %s %s", b.Version, commit, b.Go, b.Platform)
}
