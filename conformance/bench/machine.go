package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"mandate/conformance/bench/process"
)

// machine describes the computer of the measurement.
type machine struct {
	Date      string `json:"date"`
	Commit    string `json:"commit,omitempty"`
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	System    string `json:"system"`
	Go        string `json:"go"`
	Postgres  string `json:"postgresql,omitempty"`
}

func machineInfo() machine {
	m := machine{Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Processor: process.Model(),
		Cores:  runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err == nil {
		m.Commit = strings.TrimSpace(string(commit))
		changes, err := exec.Command("git", "status", "--porcelain").Output()
		if err == nil && len(changes) > 0 {
			m.Commit += " with changes"
		}
	}
	return m
}

func (m machine) String() string {
	parts := []string{m.Date}
	if m.Commit != "" {
		parts = append(parts, "commit "+m.Commit)
	}
	parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d cores %s", m.Cores, m.Processor)), m.System, m.Go)
	return strings.Join(parts, ", ")
}
