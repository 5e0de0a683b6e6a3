// Package spreadsheet makes texts of others safe in CSV that a spreadsheet opens.
package spreadsheet

import "strings"

// Cells returns the cells of a row. A spreadsheet runs a cell that begins with one of these characters as a
// formula, and strangers choose some of the texts. In many countries it takes a semicolon for the end of a cell.
func Cells(texts ...string) []string {
	for i, text := range texts {
		var b strings.Builder
		begins := true // what may be a cell
		for _, r := range text {
			if begins && strings.ContainsRune("=+-@\t\r\n＝＋－＠", r) {
				b.WriteByte('\'')
			}
			b.WriteRune(r)
			begins = strings.ContainsRune(";\t\r\n", r) || begins && (r == ' ' || r == '"')
		}
		texts[i] = b.String()
	}
	return texts
}
