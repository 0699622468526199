package main

import (
	"testing"
	"time"
)

func TestPackageVersion_FollowsGitDescribe(t *testing.T) {
	at := time.Date(2026, 11, 27, 20, 30, 15, 0, time.UTC)
	for described, want := range map[string]string{
		"v1.2.3":                        "1.2.3",
		"v1.2.3-dirty":                  "1.2.3+dirty",
		"v1.2.3-rc.1":                   "1.2.3-rc.1",
		"v1.2.3-rc.1-dirty":             "1.2.3-rc.1+dirty",
		"v1.2.3-5-gabc1234":             "1.2.3+5.abc1234",
		"v1.2.3-5-gabc1234-dirty":       "1.2.3+5.abc1234.dirty",
		"v1.0.0-rc.1-5-gabc1234":        "1.0.0-rc.1+5.abc1234",
		"v1.0.0-rc.1-12-gabc1234-dirty": "1.0.0-rc.1+12.abc1234.dirty",
		"abc1234":                       "0.0.0+20261127203015.abc1234",
		"abc1234-dirty":                 "0.0.0+20261127203015.abc1234.dirty",
		"release 7":                     "0.0.0+20261127203015",
	} {
		if got := packageVersion(described, at); got != want {
			t.Errorf("%q is packaged as %q, want %q", described, got, want)
		}
	}
}
