package engine

import (
	"bytes"
	"io"

	"mandate/conformance/wire"
)

// Formats are the formats of a report.
func Formats() map[string]func(*Report, io.Writer) error {
	return map[string]func(*Report, io.Writer) error{
		"text": (*Report).Text, "json": harmless((*Report).JSON), "junit": harmless((*Report).JUnit),
		"html": harmless((*Report).HTML),
	}
}

// harmless makes a format write only text that controls neither a terminal nor a build system: each format can be
// written to standard output. The text report does so itself, line by line.
func harmless(write func(*Report, io.Writer) error) func(*Report, io.Writer) error {
	return func(r *Report, w io.Writer) error {
		var all bytes.Buffer
		err := write(r, &all)
		if err != nil {
			return err
		}
		_, err = wire.HarmlessWriter{To: w}.Write(all.Bytes())
		return err
	}
}
