package app

import (
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// MemoryOf returns how many bytes the control group of this process, and those above it, allow. files is the file
// system of the machine.
func MemoryOf(files fs.FS) int64 {
	limit := int64(math.MaxInt64)
	groups, err := fs.ReadFile(files, "proc/self/cgroup")
	if err != nil {
		return limit // another system
	}
	for line := range strings.Lines(string(groups)) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, _ := strings.Cut(group, ":")
		folder, file := "sys/fs/cgroup", "memory.max" // version 2 has no list of controllers
		switch controllers {
		case "":
		case "memory":
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Clean("/" + name); ; at = path.Dir(at) {
			limit = min(limit, bytesIn(files, path.Join(folder, at, file)))
			if at == "/" {
				break
			}
		}
	}
	return limit
}

// bytesIn returns the number in a file, or the largest one if there is none.
func bytesIn(files fs.FS, name string) int64 {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 { // "max"
		return math.MaxInt64
	}
	return n
}

// hashesWithin returns how many passwords may be hashed at the same time, for people and for programs each, if the
// setting leaves it open: 0 stands for what the processors allow. The hashes together take at most half of the memory.
func hashesWithin(limit int64, memoryKiB int) int {
	if limit == math.MaxInt64 {
		return 0
	}
	fit := limit / 4 / (int64(max(1, memoryKiB)) << 10)
	if fit >= int64(runtime.GOMAXPROCS(0)) {
		return 0
	}
	return int(max(1, min(fit, int64(runtime.GOMAXPROCS(0)-1))))
}
