package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func logger() (*slog.Logger, *bytes.Buffer) {
	text := &bytes.Buffer{}
	return slog.New(slog.NewTextHandler(text, nil)), text
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settle waits until the writer has handled n lines.
func settle(t *testing.T, w *Writer, n int64) {
	t.Helper()
	for {
		written, lost := w.Counts()
		if written+lost >= n {
			return
		}
	}
}

func TestFileIsFollowedWhenItIsRenamed(t *testing.T) {
	log, text := logger()
	path := filepath.Join(t.TempDir(), "events.log")
	w := ToFile(path, log)
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("one\n"))
	settle(t, w, 1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("two\n"))
	settle(t, w, 2)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("three\n"))
	settle(t, w, 3)
	// The program that renames the file makes the next one.
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("and three\n"))
	w.Close()
	if got := read(t, path+".1") + read(t, path+".2") + read(t, path); got != "one\nthree\nand three\n" {
		t.Errorf("the files have %q", got)
	}
	if text.Len() > 0 {
		t.Errorf("the log says %s", text)
	}
	again := ToFile(path, log)
	again.Write([]byte("four\n"))
	again.Close()
	if got := read(t, path); got != "and three\nfour\n" {
		t.Errorf("the file has %q", got)
	}
}

func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	log, text := logger()
	folder := filepath.Join(t.TempDir(), "gone")
	w := ToFile(filepath.Join(folder, "events.log"), log)
	if err := w.Check(); err == nil || !strings.Contains(err.Error(), "EVENT_LOG") {
		t.Errorf("Check: %v", err)
	}
	w.Write([]byte("one\n"))
	w.Write([]byte("two\n"))
	settle(t, w, 2)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("three\n"))
	w.Close()
	written, lost := w.Counts()
	if written != 1 || lost != 2 || read(t, filepath.Join(folder, "events.log")) != "three\n" {
		t.Errorf("%d written, %d lost", written, lost)
	}
	if strings.Count(text.String(), "cannot be written") != 1 || strings.Count(text.String(), "written again") != 1 {
		t.Errorf("the log says %s", text)
	}
}

// stuck is a stream that takes nothing until it is released.
type stuck struct {
	release chan struct{}
	lines   int
}

func (s *stuck) Write(line []byte) (int, error) {
	<-s.release
	s.lines++
	if s.lines == 1 {
		return 0, errors.New("broken")
	}
	return len(line), nil
}

// Whoever stores an event does not wait for a slow stream.
func TestWriteDoesNotWait(t *testing.T) {
	log, _ := logger()
	out := &stuck{release: make(chan struct{})}
	w := ToStream(out, log)
	const more = 50
	for range mostWaiting + 1 + more { // one is being written
		w.Write([]byte("line\n"))
	}
	_, lost := w.Counts()
	if lost < more || lost > more+1 {
		t.Errorf("%d lines were lost", lost)
	}
	close(out.release)
	w.Close()
	written, after := w.Counts()
	if after != lost+1 || written+after != mostWaiting+1+more {
		t.Errorf("%d written, %d lost", written, after)
	}
}

func TestWritersShareAFile(t *testing.T) {
	log, _ := logger()
	path := filepath.Join(t.TempDir(), "events.log")
	var all sync.WaitGroup
	for i := range 4 {
		w := ToFile(path, log)
		all.Go(func() {
			for n := range 100 {
				w.Write([]byte(fmt.Sprintf("%d %03d %s\n", i, n, strings.Repeat("x", 300))))
			}
			w.Close()
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) != 306 {
			t.Errorf("a line is %q", line)
		}
	}
}

func TestAtOnce(t *testing.T) {
	log, _ := logger()
	path := filepath.Join(t.TempDir(), "events.log")
	ToFile(path, log).AtOnce().Write([]byte("one\n"))
	if got := read(t, path); got != "one\n" {
		t.Errorf("the file has %q", got)
	}
}

func TestNothingIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.log")
	ToFile(path, nil).Close()
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
}
