// Package settings describes the settings of a configuration as texts.
//
// Packages config and agent/settings list their settings with it.
//
//   - [Setting] has the key and the description of a value, and converts it to text and back.
//   - [Text], [Span], [Bytes], [Whole] and [Truth] return settings of the usual types.
//   - [Positive], [Most] and [MostBytes] add a bound to a setting.
//   - [Size] is a number of bytes, written as in 64MiB.
//   - [IsInjected] finds environment variables that are not meant as settings.
//
// If a text is invalid, Set returns an error with the remedy, and the value stays as it was. The
// package has no state. A configuration must not be set by two goroutines at the same time.
package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/timefmt"
)

// Setting is a single setting of a configuration C.
type Setting[C any] struct {
	Key string // key of the setting, such as server.listen
	Doc string
	Get func(*C) string
	// Set parses a text and sets the value. If it fails, the value stays.
	Set func(*C, string) error
}

// Text returns a setting for a text. The function "check", if not nil, rejects texts.
func Text[C any](key, doc string, at func(*C) *string, check func(string) error) Setting[C] {
	return Setting[C]{key, doc, func(c *C) string { return *at(c) }, func(c *C, s string) error {
		if check != nil {
			if err := check(s); err != nil {
				return err
			}
		}
		*at(c) = s
		return nil
	}}
}

// Span returns a setting for a duration, as in 90s or 30d.
func Span[C any](key, doc string, at func(*C) *time.Duration) Setting[C] {
	return Setting[C]{key, doc, func(c *C) string { return timefmt.FormatDuration(*at(c)) }, func(c *C, s string) error {
		d, err := timefmt.ParseDuration(s)
		if err == nil {
			*at(c) = d
		}
		return err
	}}
}

// Bytes returns a setting for a size.
func Bytes[C any](key, doc string, at func(*C) *Size) Setting[C] {
	return Setting[C]{key, doc, func(c *C) string { return at(c).String() }, func(c *C, s string) error {
		n, err := ParseSize(s)
		if err == nil {
			*at(c) = n
		}
		return err
	}}
}

// Whole returns a setting for a whole number. It refuses numbers below the argument "least".
func Whole[C any](key, doc string, least int, at func(*C) *int) Setting[C] {
	return Setting[C]{key, doc, func(c *C) string { return strconv.Itoa(*at(c)) }, func(c *C, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number from %d on", s, least)
		}
		*at(c) = n
		return nil
	}}
}

// Truth returns a setting that is true or false.
func Truth[C any](key, doc string, at func(*C) *bool) Setting[C] {
	return Setting[C]{key, doc, func(c *C) string { return strconv.FormatBool(*at(c)) }, func(c *C, s string) error {
		if s != "true" && s != "false" {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		*at(c) = s == "true"
		return nil
	}}
}

// Positive returns a setting that rejects 0, which would mean the default.
func Positive[C any](s Setting[C]) Setting[C] {
	set := s.Set
	s.Set = func(c *C, text string) error {
		changed := *c
		if err := set(&changed, text); err != nil {
			return err
		}
		if got := s.Get(&changed); got == "0" || got == "0s" {
			return fmt.Errorf("%s is too little: it must be more than 0", got)
		}
		*c = changed
		return nil
	}
	return s
}

// Most returns a setting that rejects whole numbers above a bound.
func Most[C any](bound int, s Setting[C]) Setting[C] {
	set := s.Set
	s.Set = func(c *C, text string) error {
		if n, err := strconv.Atoi(text); err == nil && n > bound {
			return fmt.Errorf("%d is too much: it must be at most %d", n, bound)
		}
		return set(c, text)
	}
	return s
}

// MostBytes returns a setting that rejects sizes above a bound.
func MostBytes[C any](bound Size, s Setting[C]) Setting[C] {
	set := s.Set
	s.Set = func(c *C, text string) error {
		if n, err := ParseSize(text); err == nil && n > bound {
			return fmt.Errorf("%s is too much: it must be at most %s", n, bound)
		}
		return set(c, text)
	}
	return s
}

// OneOf returns a check that accepts some words.
func OneOf(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is unknown: use %s", s, strings.Join(words, " or "))
		}
		return nil
	}
}

// Words returns the parts of a text that commas separate, without empty ones.
func Words(text string) (list []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// Size is a number of bytes.
type Size int64

var units = []string{"KiB", "MiB", "GiB"} // each unit is 1024 times the unit before it

// ParseSize parses a number of bytes, or a number with the unit KiB, MiB or GiB.
func ParseSize(s string) (Size, error) {
	shift, number := 0, s
	for i, unit := range units {
		if text, ok := strings.CutSuffix(s, unit); ok {
			shift, number = 10*(i+1), strings.TrimSpace(text)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size: write bytes, or a number with KiB, MiB or GiB", s)
	}
	return Size(n << shift), nil
}

// String formats the size so that ParseSize can parse it.
func (s Size) String() string {
	for i := len(units) - 1; i >= 0; i-- {
		if one := Size(1) << (10 * (i + 1)); s >= one && s%one == 0 {
			return strconv.FormatInt(int64(s/one), 10) + units[i]
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
