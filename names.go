package varve

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/varvedb/varve/internal/quote"
)

// Limits of names, in bytes.
const (
	MaxNameBytes   = 64  // tenant, stream
	MaxDeviceBytes = 256 // device
	MaxFieldBytes  = 128 // field name
	MaxIDBytes     = 64  // id sent by a client
)

// DefaultTenant owns all data that is written without an API key.
const DefaultTenant = "default"

// Validate checks tenant and stream with [ValidateName], and the device with [ValidateDevice].
func (s Series) Validate() Verdict {
	if err := ValidateName("tenant", s.Tenant); err != nil {
		return Reject(CodeStreamInvalid, "%s", err)
	}
	if err := ValidateName("stream", s.Stream); err != nil {
		return Reject(CodeStreamInvalid, "%s", err)
	}
	if err := ValidateDevice(s.Device); err != nil {
		return Reject(CodeDeviceInvalid, "%s", err)
	}
	return Verdict{}
}

// ValidateName checks the name of a tenant or a stream, because it occurs in addresses,
// configuration and keys.
//
// A name has 1 to 64 letters, digits, dots, underscores and hyphens, and begins with a letter or
// digit. The argument what names the kind of name in the error.
func ValidateName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > MaxNameBytes:
		return fmt.Errorf("%s %s has %d bytes, the limit is %d", what, quote.Text(name), len(name), MaxNameBytes)
	}
	for i := range len(name) {
		c := name[i]
		alnum := c-'0' <= 9 || c|0x20-'a' < 26
		if !alnum && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return fmt.Errorf("%s %s: use letters, digits, . _ - and begin with a letter or digit", what, quote.Text(name))
		}
	}
	return nil
}

// ValidateDevice checks the name of a device: 1 to 256 bytes of printable UTF-8 without outer
// space.
//
// Slashes, colons and inner spaces are allowed, so addresses, serial numbers and ARNs are valid
// names.
func ValidateDevice(device string) error {
	if why := invalidText(device, MaxDeviceBytes); why != "" {
		return fmt.Errorf("device %s %s", quote.Text(device), why)
	}
	return nil
}

// invalidFieldName returns the problem of a field name, or "".
func invalidFieldName(name string) string {
	if plainName(name) {
		return ""
	}
	if strings.HasPrefix(name, "_") {
		return "begins with _, which is reserved"
	}
	return invalidText(name, MaxFieldBytes)
}

// plainName reports whether a name consists of visible ASCII. It is the fast path for most
// names.
func plainName(name string) bool {
	if len(name) == 0 || len(name) > MaxFieldBytes || name[0] == '_' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

func invalidText(s string, limit int) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > limit:
		return fmt.Sprintf("has %d bytes, the limit is %d", len(s), limit)
	case plainName(s):
		return ""
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.TrimSpace(s) != s:
		return "has space around it"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a character that cannot be printed"
	}
	return ""
}
