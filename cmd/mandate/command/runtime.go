package command

import (
	"io/fs"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"mandate/app"
)

// relaxGC uses a few megabytes more to save a tenth of the work: so little
// memory is in use that Go's default would collect garbage a hundred times per
// second.
func (p *program) relaxGC() {
	if !slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(400)
	}
}

// limitMemory tells the runtime how much memory the container, or the unit of systemd, has. Without that it lets
// garbage grow until the kernel ends the process: each hash of a password leaves 19 MiB of it. A limit in the
// environment counts.
func (p *program) limitMemory(files fs.FS) {
	for _, v := range p.Environ {
		if strings.HasPrefix(v, "GOMEMLIMIT=") {
			return
		}
	}
	limit := app.MemoryOf(files)
	if limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 7) // the rest is for the program itself, stacks and the kernel
	}
}
