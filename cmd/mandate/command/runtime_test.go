package command

import (
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestRuntimeKeepsToTheMemoryOfTheContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	files := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("100663296\n")},
	}
	(&program{Process: Process{Environ: []string{"GOMEMLIMIT=1GiB"}}}).limitMemory(files)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the limit of the environment became %d", got)
	}
	(&program{}).limitMemory(files)
	if got := debug.SetMemoryLimit(-1); got > 96<<20*3/4 || got < 96<<20/2 {
		t.Errorf("the limit of the runtime is %d", got)
	}
}
