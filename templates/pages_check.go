package templates

// ServerCheck shows what keeps applications and people from using the server, the worst first.
type ServerCheck struct {
	Frame
	At    string // when it was checked
	Wrong bool
	Rows  []CheckRow
	Fine  []CheckRow // what found nothing
}

// CheckRow is one finding.
type CheckRow struct{ Weight, Check, About, Text, Remedy string }
