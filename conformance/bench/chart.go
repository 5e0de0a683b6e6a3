package main

import (
	"bytes"
	"fmt"
	"os"
	"text/template"
)

// chart has a bar for each ratio, and a mark at its goal. It follows the reader's choice of light or dark, and
// describes its content in text.
var chart = template.Must(
	template.New("chart").Parse(
		`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}"
 role="img" aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="14">
<title id="title">Requests a second, as a multiple of a bare handler</title>
<desc id="description">{{range .Groups}}{{.Name | html}}:{{range .Bars}}
 {{.Title | html}} {{.Label | html}};{{end}} {{end}}</desc>
<style>
.ground { fill: #ffffff; } .text { fill: #1f2328; } .soft { fill: #59636e; }
.met { fill: #1a7f37; } .short { fill: #bc4c00; } .free { fill: #57606a; }
.goal { stroke: #1f2328; } .one { stroke: #8c959f; }
.over { stroke: #ffffff; stroke-width: 5px; paint-order: stroke; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; } .text { fill: #f0f6fc; } .soft { fill: #9198a1; }
.met { fill: #3fb950; } .short { fill: #f0883e; } .free { fill: #848d97; }
.goal { stroke: #f0f6fc; } .one { stroke: #656c76; }
.over { stroke: #0d1117; }
}
</style>
<rect class="ground" width="100%" height="100%"/>
<text class="text" x="16" y="28" font-size="16" font-weight="600">
Requests a second, as a multiple of a bare handler</text>
<text class="soft" x="16" y="48" font-size="12">{{.About | html}}</text>
{{range .Groups}}<text class="text" x="16" y="{{.Y}}" font-weight="600">{{.Name | html}}</text>
<line class="one" x1="{{$.One}}" x2="{{$.One}}" y1="{{.Top}}" y2="{{.Bottom}}" stroke-dasharray="2 3"/>
{{range .Bars}}<text class="text" x="16" y="{{.Text}}">{{.Title | html}}</text>
<rect class="{{.Class}}" x="{{$.Left}}" y="{{.Y}}" width="{{.Width}}" height="18" rx="2"/>
{{if .Goal}}<line class="goal" x1="{{.Goal}}" x2="{{.Goal}}" y1="{{.Y}}" y2="{{.End}}" stroke-width="3"/>
{{end}}<text class="text over" x="{{.After}}" y="{{.Text}}">{{.Label | html}}</text>
{{end}}{{end}}<text class="soft" x="16" y="{{.Foot}}" font-size="12">
Thick mark: the goal; green is met, orange is not. Dotted: as fast as the bare handler.</text>
</svg>
`))

type chartBar struct {
	Title, Label, Class       string
	Y, End, Text, Width, Goal int
	After                     int
}

type chartGroup struct {
	Name           string
	Y, Top, Bottom int
	Bars           []chartBar
}

const (
	chartWidth = 800
	chartLeft  = 250
	chartRoom  = 430 // of the longest bar
)

// draw writes the chart of all paths that are compared with a bare handler.
func (r *report) draw(file string) error {
	most := 1.0
	for _, s := range r.Summaries {
		most = max(most, s.Ratio.Median, s.Goal)
	}
	long := func(ratio float64) int { return int(ratio / most * chartRoom) }
	var groups []chartGroup
	y := 64
	for _, database := range []string{onPostgres, onSQLite, elsewhere} {
		group := chartGroup{Name: r.heading(database), Y: y + 18, Top: y + 26}
		at := y + 28
		for _, s := range r.Summaries {
			if s.Database != database || s.Bare == 0 || s.Yardstick == without {
				continue
			}
			bar := chartBar{Title: s.Title, Class: "free", Y: at, End: at + 18, Text: at + 14,
				Width: max(1, long(s.Ratio.Median))}
			bar.Label = fmt.Sprintf("%.2f, %s/s", s.Ratio.Median, grouped(int(s.Rate)))
			bar.After = chartLeft + bar.Width + 8
			if s.Goal > 0 {
				bar.Goal = chartLeft + long(s.Goal)
				bar.After = max(bar.After, bar.Goal+8)
				bar.Class = "met"
				if s.Ratio.Median < s.Goal {
					bar.Class = "short"
				}
			}
			group.Bars = append(group.Bars, bar)
			at += 26
		}
		if len(group.Bars) > 0 {
			group.Bottom = at - 4
			groups = append(groups, group)
			y = at + 12
		}
	}
	var text bytes.Buffer
	err := chart.Execute(&text,
		map[string]any{"Width": chartWidth, "Height": y + 36, "Left": chartLeft, "One": chartLeft + long(1),
			"About": r.Machine.String(), "Groups": groups, "Foot": y + 20})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
