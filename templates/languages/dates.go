package languages

import (
	"strconv"
	"time"
)

// Day writes the date of a time, in UTC.
func (l *Language) Day(at int64) string {
	t := time.Unix(at, 0).UTC()
	month, year := l.month(t.Month()), strconv.Itoa(t.Year())
	switch l.tag {
	case "de":
		return strconv.Itoa(t.Day()) + ". " + month + " " + year
	case "es":
		return strconv.Itoa(t.Day()) + " de " + month + " de " + year
	case "fr":
		if t.Day() == 1 {
			return "1er " + month + " " + year
		}
	}
	return strconv.Itoa(t.Day()) + " " + month + " " + year
}

// Moment writes the date and the time of day, in UTC.
func (l *Language) Moment(at int64) string {
	return l.Day(at) + ", " + time.Unix(at, 0).UTC().Format("15:04") + " UTC"
}

func (l *Language) month(m time.Month) string {
	return [...]string{
		l.T("January"), l.T("February"), l.T("March"), l.T("April"), l.T("May"), l.T("June"),
		l.T("July"), l.T("August"), l.T("September"), l.T("October"), l.T("November"), l.T("December"),
	}[m-1]
}
