package people

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mandate/provider/oauth"
	"mandate/storage"
)

// mostMistakes is how many mistakes of a list are named.
const mostMistakes = 50

// mistakes collects what is wrong with a list of people.
type mistakes struct {
	fields map[string]string // the fields of a form for the columns of a list, if they have other names
	single oauth.Invalid
	lines  []string
	more   int // mistakes that are not named
}

// add notes a mistake in a column. line is 0 for what is not part of a list.
func (m *mistakes) add(line int, column, text string) {
	switch {
	case line == 0:
		m.single.Add(cmp.Or(m.fields[column], column), "%s", text)
	case len(m.lines) == mostMistakes:
		m.more++
	case column == "":
		m.lines = append(m.lines, fmt.Sprintf("Line %d: %s", line, text))
	default:
		m.lines = append(m.lines, fmt.Sprintf("Line %d, %s: %s", line, column, text))
	}
}

// checkGroups notes each name of a group that is not one of the known groups.
func (m *mistakes) checkGroups(line int, names []string, known []storage.Group) {
	for _, name := range names {
		switch {
		case slices.ContainsFunc(known, func(g storage.Group) bool { return g.Name == name }):
		case line > 0 && isAddress(name):
			m.add(line, "groups", fmt.Sprintf("%q is an address, and not a group. Write each address on a line of its own.",
				oauth.Clip(name, 150)))
		default:
			m.add(line, "groups", fmt.Sprintf("There is no group %q. Add the group first.", oauth.Clip(name, 150)))
		}
	}
}

// addAll notes the mistakes of a form that stands for one line.
func (m *mistakes) addAll(line int, form *oauth.Invalid) {
	for _, f := range form.Fields {
		m.add(line, f.Field, f.Message)
	}
}

// none reports whether nothing is wrong.
func (m *mistakes) none() bool { return len(m.lines) == 0 && len(m.single.Fields) == 0 }

// err returns an Invalid with all mistakes, or nil. Those with a line are at the field list.
func (m *mistakes) err() error {
	if m.none() {
		return nil
	}
	if m.more > 0 {
		m.lines = append(m.lines, fmt.Sprintf("There are %d more mistakes.", m.more))
		m.more = 0
	}
	if len(m.lines) > 0 {
		m.single.Add("list", "%s", strings.Join(m.lines, "\n"))
	}
	return &m.single
}

// row is one person of a table.
type row struct {
	line  int
	cells map[string]string // by column
}

// table says what a table of people looks like.
type table struct {
	columns  []string
	required []string
	bare     []string // the columns if the first line names none: it has an address; none: it must name them
	most     int      // rows
}

// read reads a table: CSV (RFC 4180), with commas, semicolons or tabs. The first line names the columns. It
// returns an Invalid that names every line which cannot be read.
func (t table) read(from io.Reader) ([]row, error) {
	found := &mistakes{}
	buffered := bufio.NewReader(from)
	first, before, err := firstLine(buffered)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(first, "PK\x03\x04") { // a ZIP file, such as XLSX and ODS
		found.add(0, "list", notCSV)
		return nil, found.err()
	}
	r := csv.NewReader(buffered)
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace = separator(first), -1, true
	var columns []string
	var rows []row
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			found.add(before+max(wrong.StartLine, 1), "", wrongQuote(wrong))
			break // what follows cannot be told apart
		}
		if err != nil {
			return nil, fmt.Errorf("read the list: %w", err)
		}
		if !slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		line, _ := r.FieldPos(0)
		line += before
		if columns == nil {
			named := false
			columns, named = t.heading(found, line, record)
			if columns == nil {
				break
			}
			if named {
				continue
			}
		}
		if len(rows) == t.most {
			found.add(0, "list", fmt.Sprintf("The list has more than %d people. Split it.", t.most))
			break
		}
		rows = append(rows, t.row(found, line, columns, record, r.Comma))
	}
	if columns == nil && found.none() {
		found.add(0, "list", "The list is empty.")
	}
	return rows, found.err()
}

// heading returns the columns, and whether this first line names them. It returns nil if nothing in the table can be
// read.
func (t table) heading(found *mistakes, line int, record []string) (columns []string, named bool) {
	if len(t.bare) > 0 && strings.Contains(record[0], "@") {
		return t.bare, false
	}
	if !utf8.ValidString(strings.Join(record, "")) {
		found.add(line, "", notUTF8)
		return nil, true
	}
	for _, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !slices.Contains(t.columns, name):
			found.add(line, "", fmt.Sprintf("There is no column %q. Rename it or remove it: the columns are %s.",
				oauth.Clip(name, 40), strings.Join(t.columns, ", ")))
		case slices.Contains(columns, name):
			found.add(line, "", fmt.Sprintf("The column %s is there twice. Remove one.", name))
		}
		columns = append(columns, name)
	}
	for _, name := range t.required {
		if !slices.Contains(columns, name) {
			found.add(line, "", fmt.Sprintf("The column %s is missing. The first line must name the columns, with commas, "+
				"semicolons or tabs between them.", name))
		}
	}
	return columns, true
}

func (t table) row(found *mistakes, line int, columns, record []string, comma rune) row {
	one := row{line, map[string]string{}}
	if other := otherSeparator(columns, record, comma); other != "" {
		found.add(line, "", fmt.Sprintf("Here %s separate the cells, and in the first line %s. Use the same in all lines.",
			other, separators[comma]))
		return one
	}
	for n, cell := range record {
		switch {
		case !utf8.ValidString(cell):
			found.add(line, "", notUTF8)
		case n < len(columns):
			one.cells[columns[n]] = strings.TrimSpace(cell)
		case strings.TrimSpace(cell) != "":
			found.add(line, "", fmt.Sprintf("There are more cells than columns, which are %s. Put a cell that contains %s in "+
				"quotes.", strings.Join(columns, ", "), separators[comma]))
			return one
		}
	}
	return one
}

const notCSV = "This is the file of a spreadsheet program, and not CSV. Save it as CSV in UTF-8."

const notUTF8 = "This is not UTF-8 text. Save the file as CSV in UTF-8."

// separators are what can separate cells, with their names.
var separators = map[rune]string{',': "commas", ';': "semicolons", '\t': "tabs"}

// otherSeparator names what separates the cells of a line, if that is not what separates those of the first line: the
// line then has a single cell, which contains it. It returns "" if nothing is wrong.
func otherSeparator(columns, record []string, comma rune) string {
	if len(columns) < 2 || len(record) != 1 {
		return ""
	}
	for _, r := range []rune{',', ';', '\t'} {
		if r != comma && strings.ContainsRune(record[0], r) {
			return separators[r]
		}
	}
	return ""
}

// wrongQuote says what is wrong with the quotes of a table.
func wrongQuote(wrong *csv.ParseError) string {
	if errors.Is(wrong.Err, csv.ErrBareQuote) {
		return fmt.Sprintf("There is a quote (\") at character %d, in a cell that does not begin with one. Put the whole "+
			"cell in quotes, and write each quote in it twice.", wrong.Column)
	}
	return fmt.Sprintf("A cell begins with a quote (\"), and its end is wrong in line %d, at character %d. Write each "+
		"quote in it twice, and end it with one.", wrong.Line, wrong.Column)
}

// names returns the names in a cell, which are separated by semicolons.
func names(cell string) []string {
	var list []string
	for name := range strings.SplitSeq(cell, ";") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// firstLine returns the beginning of the first line. It removes a byte order mark, and a line before it that only names
// the separator, as spreadsheets write it (sep=;). removed is the number of lines that it has removed.
func firstLine(r *bufio.Reader) (line string, removed int, err error) {
	begin, err := r.Peek(3)
	if err == nil && string(begin) == "\ufeff" {
		_, err = r.Discard(3)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, fmt.Errorf("read the list: %w", err)
	}
	for {
		begin, err = r.Peek(1024)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", 0, fmt.Errorf("read the list: %w", err)
		}
		line, _, ended := strings.Cut(string(begin), "\n")
		if removed > 0 || !ended || !strings.HasPrefix(strings.ToLower(line), "sep=") || strings.ContainsRune(line, '@') {
			return line, removed, nil
		}
		_, err = r.Discard(len(line) + 1)
		if err != nil {
			return "", 0, fmt.Errorf("read the list: %w", err)
		}
		removed++
	}
}

// separator returns what separates the cells, which depends on the program that wrote the table.
func separator(line string) rune {
	for _, r := range []rune{',', ';', '\t'} {
		if strings.ContainsRune(line, r) {
			return r
		}
	}
	return ','
}

// ReadInvites reads a list of people to invite: an address in each line, or a table with the columns
// email and groups. Groups are separated by semicolons.
func ReadInvites(from io.Reader) ([]Invite, error) {
	columns := []string{"email", "groups"}
	rows, err := table{columns: columns, required: []string{"email"}, bare: columns, most: MostInvites}.read(from)
	if err != nil {
		return nil, err
	}
	list := make([]Invite, len(rows))
	for n, one := range rows {
		list[n] = Invite{Email: one.cells["email"], Groups: names(one.cells["groups"]), Line: one.line}
	}
	return list, nil
}
