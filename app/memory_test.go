package app

import (
	"math"
	"runtime"
	"testing"
	"testing/fstest"
)

// The limit of the kernel ends the process. The server must know it.
func TestMemoryOfTheContainerIsKnown(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"another system": {fstest.MapFS{}, math.MaxInt64},
		"no limit": {fstest.MapFS{
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("max\n"),
		}, math.MaxInt64},
		"a container": {fstest.MapFS{
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("100663296\n"),
		}, 96 << 20},
		"a unit": {fstest.MapFS{
			"proc/self/cgroup": file("0::/system.slice/mandate.service\n"),
			"sys/fs/cgroup/system.slice/mandate.service/memory.max": file("100663296\n"),
		}, 96 << 20},
		"a slice": {fstest.MapFS{
			"proc/self/cgroup":             file("0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max":   file("100663296\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"),
		}, 96 << 20},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup":                           file("5:cpu:/\n4:memory:/docker/x\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("100663296\n"),
		}, 96 << 20},
		"version 1, no limit": {fstest.MapFS{
			"proc/self/cgroup":                           file("4:memory:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, 9223372036854771712},
	} {
		if got := MemoryOf(c.files); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestHashesFitIntoTheMemory(t *testing.T) {
	for limit, want := range map[int64]int{math.MaxInt64: 0, 1 << 40: 0, 64 << 20: 1, 96 << 20: 1} {
		if got := hashesWithin(limit, 19<<10); got != want && runtime.GOMAXPROCS(0) > 1 {
			t.Errorf("%d bytes: %d hashes, want %d", limit, got, want)
		}
	}
}
