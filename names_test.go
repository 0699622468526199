package varve_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestValidateName_AllowsNamesSafeInURLs checks that only names that are safe in a URL are valid
// for tenants and streams.
func TestValidateName_AllowsNamesSafeInURLs(t *testing.T) {
	tests := []struct {
		reason, name string
		ok           bool
	}{
		{"one letter", "a", true},
		{"one digit", "0", true},
		{"capitals", "ACME", true},
		{"all that may follow", "a0Z._-", true},
		{"64 bytes", strings.Repeat("a", 64), true},
		{"65 bytes", strings.Repeat("a", 65), false},
		{"empty", "", false},
		{"a point first", ".a", false},
		{"a hyphen first", "-a", false},
		{"an underscore first", "_a", false},
		{"this folder", ".", false},
		{"parent folder", "..", false},
		{"a slash", "a/b", false},
		{"a hash", "a#b", false},
		{"a colon", "a:b", false},
		{"a blank", "a b", false},
		{"a trailing blank", "a ", false},
		{"a letter that is not ASCII", "é", false},
		{"the character before A", "a@", false},
		{"the character after Z", "a[", false},
		{"the character before a", "a`", false},
		{"the character after z", "a{", false},
		{"a zero byte", "a\x00", false},
		{"not UTF-8", "a\xff", false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			err := varve.ValidateName("stream", tt.name)
			if (err == nil) != tt.ok {
				t.Fatalf("%q: %v", tt.name, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "stream ") {
				t.Errorf("the message does not say what is wrong: %v", err)
			}
		})
	}
}

// TestValidateDevice_AllowsPrintableNames checks that network addresses, serial numbers and ARNs
// are valid device names, and that unprintable texts are not.
func TestValidateDevice_AllowsPrintableNames(t *testing.T) {
	tests := []struct {
		reason, name string
		ok           bool
	}{
		{"a serial number", "SN-0001/b", true},
		{"a hardware address", "00:1b:44:11:3a:b7", true},
		{"an ARN", "arn:aws:iot:eu-west-1:123456789012:thing/x", true},
		{"a blank inside", "north gate", true},
		{"other letters", "датчик 7", true},
		{"256 bytes", strings.Repeat("d", 256), true},
		{"257 bytes", strings.Repeat("d", 257), false},
		{"128 characters of two bytes", strings.Repeat("é", 128), true},
		{"129 characters of two bytes", strings.Repeat("é", 129), false},
		{"empty", "", false},
		{"a blank", " ", false},
		{"a blank first", " a", false},
		{"a blank last", "a ", false},
		{"a line break last", "a\n", false},
		{"a line break", "a\nb", false},
		{"a tab", "a\tb", false},
		{"a zero byte", "a\x00b", false},
		{"delete", "a\x7fb", false},
		{"a character of no width", "a\u200bb", false},
		{"a line separator", "a\u2028b", false},
		{"not UTF-8", "a\xffb", false},
		{"half a character", "a\xc3", false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if err := varve.ValidateDevice(tt.name); (err == nil) != tt.ok {
				t.Errorf("%q: %v", tt.name, err)
			}
		})
	}
}

// TestValidateNewDevice_RefusesPaths checks that new devices cannot have the names . and .., which
// servers resolve in the path of a URL. Stored devices with such names must remain readable.
func TestValidateNewDevice_RefusesPaths(t *testing.T) {
	for name, ok := range map[string]bool{".": false, "..": false, "...": true, ".a": true, "a/..": true, "": false, " a": false} {
		if err := varve.ValidateNewDevice(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := varve.ValidateDevice(".."); err != nil {
		t.Errorf("a stored device: %v", err)
	}
}

// TestValidate_FollowsRuleForAnyText compares the validation of random texts with a second
// implementation of the rule.
func TestValidate_FollowsRuleForAnyText(t *testing.T) {
	gen := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,70}`), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"))
	}))
	checkMany(t, func(t *rapid.T) {
		name := gen.Draw(t, "name")
		const letters, rest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "._-"
		plain := name != "" && len(name) <= 64 && strings.Trim(name, letters+rest) == "" && strings.ContainsAny(name[:1], letters)
		if err := varve.ValidateName("tenant", name); (err == nil) != plain {
			t.Fatalf("tenant %q: %v", name, err)
		}
		printable := name != "" && len(name) <= 256 && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
			!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
		if err := varve.ValidateDevice(name); (err == nil) != printable {
			t.Fatalf("device %q: %v", name, err)
		}
	})
}

// TestSeries_IsOrderedAndNamed checks that different series have different strings, and that
// series are ordered by tenant, stream and device.
func TestSeries_IsOrderedAndNamed(t *testing.T) {
	name, device := rapid.StringMatching(`[ab][.-]?b?`), rapid.StringMatching(`[ab/]{1,3}`)
	gen := rapid.Custom(func(t *rapid.T) varve.Series {
		return varve.Series{Tenant: name.Draw(t, "tenant"), Stream: name.Draw(t, "stream"), Device: device.Draw(t, "device")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if (a == b) != (a.String() == b.String()) {
			t.Fatalf("%v and %v: %s and %s", a, b, a, b)
		}
		want := strings.Compare(a.Tenant, b.Tenant)
		if want == 0 {
			want = strings.Compare(a.Stream, b.Stream)
		}
		if want == 0 {
			want = strings.Compare(a.Device, b.Device)
		}
		if got := a.Compare(b); got != want || b.Compare(a) != -want {
			t.Fatalf("Compare(%s, %s) is %d, want %d", a, b, got, want)
		}
	})
}
