package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mandate/conformance/engine"
)

// outputs are the files that a conformance run will write. They are opened before the run, so that nobody waits for
// results that cannot be kept.
type outputs struct{ made []string }

// claim returns an error if a file cannot be written.
func (o *outputs) claim(path string) error {
	_, err := os.Stat(path)
	made := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return untried(err)
	}
	if made {
		o.made = append(o.made, path)
	}
	return file.Close()
}

// keep excepts files from abandon.
func (o *outputs) keep(paths []string) {
	o.made = slices.DeleteFunc(o.made, func(path string) bool { return slices.Contains(paths, path) })
}

// abandon removes the files that are new, because the rules could not be checked.
func (o *outputs) abandon() error {
	var all error
	for _, path := range o.made {
		all = errors.Join(all, os.Remove(path))
	}
	return all
}

// reportFormat returns the format of a report by the ending of its file.
func reportFormat(path string) (string, error) {
	format := map[string]string{".html": "html", ".json": "json", ".xml": "junit", ".txt": "text"}[filepath.Ext(path)]
	if format == "" {
		return "", wrongUsage("--report: the ending of %s must be .html, .json, .xml (JUnit) or .txt", path)
	}
	return format, nil
}

// claimReports checks the files of the flag --report.
func (r *rulesRun) claimReports() error {
	for _, path := range r.reports {
		_, err := reportFormat(path)
		if err != nil {
			return err
		}
		err = r.outputs.claim(path)
		if err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	return nil
}

// writeReports writes the files of the flag --report.
func (r *rulesRun) writeReports(report *engine.Report) error {
	var all error
	for _, path := range r.reports {
		err := writeReport(report, path)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("write the report: %w", err))
		}
	}
	return all
}

func writeReport(report *engine.Report, path string) error {
	format, err := reportFormat(path)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = engine.Formats()[format](report, &text)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// untried marks an error as one because of which no rule was checked.
func untried(err error) error {
	if err == nil {
		return nil
	}
	return &untriedError{err}
}
