// Package eventlog writes events to a file or a stream, as one line each.
package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Writer writes lines in the background, so that whoever stores an event does not wait for a disk. The database has
// every event; a line that cannot be written is lost, and counted.
type Writer struct {
	path   string // of the file; "": lines go to out
	out    io.Writer
	log    *slog.Logger
	lines  chan []byte
	atOnce bool
	begin  sync.Once
	ended  chan struct{}
	broken bool // the log says so already

	file *os.File
	info fs.FileInfo // of file

	written, lost atomic.Int64
}

const mostWaiting = 10_000

// ToFile returns a writer for the file at a path. It appends, and makes the file if it does not exist. If the file was
// renamed or removed, it makes another one, so programs can rotate it without telling the server.
func ToFile(path string, log *slog.Logger) *Writer { return (&Writer{path: path, log: log}).prepare() }

// ToStream returns a writer for a stream.
func ToStream(out io.Writer, log *slog.Logger) *Writer {
	return (&Writer{out: out, log: log}).prepare()
}

// AtOnce makes the writer write each line before Write returns. It is for a command, which ends soon.
func (w *Writer) AtOnce() *Writer {
	w.atOnce = true
	return w
}

func (w *Writer) prepare() *Writer {
	w.lines, w.ended = make(chan []byte, mostWaiting), make(chan struct{})
	return w
}

// Check returns an error if the file cannot be written.
func (w *Writer) Check() error {
	if w.path == "" {
		return nil
	}
	file, err := open(w.path)
	if err != nil {
		return err
	}
	return file.Close()
}

// Write takes a line, with its line feed. It does not wait, unless it writes at once: then one goroutine at a time
// calls it.
func (w *Writer) Write(line []byte) {
	if w.atOnce {
		w.handle(line)
		return
	}
	w.begin.Do(func() { go w.work() })
	select {
	case w.lines <- line:
	default:
		w.lost.Add(1)
	}
}

// Counts returns how many lines were written, and how many were lost.
func (w *Writer) Counts() (written, lost int64) { return w.written.Load(), w.lost.Load() }

// patience is how long Close waits for a line to be written.
const patience = time.Second

// Close waits until everything is written, or until nothing was written for a second: whoever reads the lines must not
// be able to keep the server from its end. Nobody may call Write any more.
func (w *Writer) Close() {
	close(w.lines)
	w.begin.Do(func() { close(w.ended) }) // nothing was written
	for handled := int64(-1); handled != w.written.Load()+w.lost.Load(); {
		handled = w.written.Load() + w.lost.Load()
		select {
		case <-w.ended:
			if w.file != nil {
				w.file.Close()
			}
			return
		case <-time.After(patience):
		}
	}
}

func (w *Writer) work() {
	defer close(w.ended)
	for line := range w.lines {
		w.handle(line)
	}
}

// handle writes a line. The log says when lines begin to be lost, and when that is over.
func (w *Writer) handle(line []byte) {
	err := w.write(line)
	if err != nil {
		w.lost.Add(1)
		if !w.broken {
			w.broken = true
			w.log.Error("EVENT_LOG cannot be written; the database has these events", "error", err)
		}
		return
	}
	w.written.Add(1)
	if w.broken {
		w.broken = false
		w.log.Info("EVENT_LOG is written again", "lost", w.lost.Load())
	}
}

func (w *Writer) write(line []byte) error {
	if w.path == "" {
		_, err := w.out.Write(line)
		return err
	}
	err := w.follow()
	if err != nil {
		return err
	}
	_, err = w.file.Write(line)
	return err
}

// follow opens the file at the path, unless it is the one that is open.
func (w *Writer) follow() error {
	at, err := os.Stat(w.path)
	if err == nil && w.file != nil && os.SameFile(at, w.info) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := open(w.path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	if w.file != nil {
		w.file.Close()
	}
	w.file, w.info = file, info
	return nil
}

// open opens a file to append to. Each write then goes to its end, also if several processes write.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("EVENT_LOG: %w", err)
	}
	return file, nil
}
