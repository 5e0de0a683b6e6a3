package command

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const aDay = 24 * time.Hour

var errDuration = errors.New("write a number with a unit, such as 90s, 30m, 48h or 7d")

// parseDuration reads a duration that a person typed: one of Go, which may begin with days (7d, 1d12h).
func parseDuration(text string) (time.Duration, error) {
	var days time.Duration
	if whole, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(whole, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/aDay)/2 {
			return 0, errDuration
		}
		days, text = time.Duration(n)*aDay, rest
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errDuration
	}
	return days + d, nil
}

// duration is the value of a flag that parseDuration reads.
type duration time.Duration

func (d *duration) Set(text string) error {
	read, err := parseDuration(text)
	if err == nil {
		*d = duration(read)
	}
	return err
}

// String returns the value as a person would type it. It is empty for 0, which means the default.
func (d *duration) String() string {
	switch v := time.Duration(*d); {
	case v == 0:
		return ""
	case v%aDay == 0:
		return strconv.FormatInt(int64(v/aDay), 10) + "d"
	default:
		return v.String()
	}
}

// Type is the word for the value in the help.
func (d *duration) Type() string { return "DURATION" }
