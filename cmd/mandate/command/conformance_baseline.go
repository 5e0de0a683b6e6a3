package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mandate/conformance/engine"
	"mandate/conformance/rules"
)

// baselineRun contains the flags about known results, and the file that they name.
type baselineRun struct {
	read, write string
	baseline    *engine.Baseline
}

func (b *baselineRun) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&b.read, "baseline", "", "a `FILE` of known failures: only a difference from it fails")
	f.StringVar(&b.write, "write-baseline", "", "write the present failures to a `FILE`; reasons that are in it are kept")
}

// open reads the file before the run, and checks that it can be written.
func (b *baselineRun) open(o *outputs) error {
	switch {
	case b.read != "" && b.write != "":
		return wrongUsage("--baseline and --write-baseline exclude each other: --write-baseline keeps the reasons that its " +
			"file has")
	case b.read != "":
		var err error
		b.baseline, err = engine.LoadBaseline(b.read, rules.All())
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("there is no file %s: --write-baseline %s writes it", b.read, b.read)
		}
		return untried(err)
	case b.write == "":
		return nil
	}
	err := o.claim(b.write)
	if err != nil {
		return err
	}
	b.baseline, err = engine.LoadBaseline(b.write, rules.All())
	return untried(err)
}

// compare compares the report with the file. With --write-baseline it writes the file before, so that nothing
// differs.
func (b *baselineRun) compare(report *engine.Report) error {
	if b.baseline == nil {
		return nil
	}
	if b.write != "" {
		var text bytes.Buffer
		err := b.baseline.Updated(report, rules.All()).Write(&text, report.Issuer)
		if err != nil {
			return err
		}
		err = os.WriteFile(b.write, text.Bytes(), 0o666)
		if err != nil {
			return err
		}
		b.baseline, err = engine.LoadBaseline(b.write, rules.All())
		if err != nil {
			return err
		}
	}
	report.Baseline = b.baseline.Compare(report)
	return nil
}
