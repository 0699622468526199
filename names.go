package varve

import (
	"fmt"

	"github.com/varvedb/varve/internal/printable"
	"github.com/varvedb/varve/internal/quote"
)

// Limits of names, in bytes.
const (
	MaxNameBytes   = 64  // name of a tenant or a stream
	MaxDeviceBytes = 256 // name of a device
	MaxFieldBytes  = 128 // name of a field
	MaxIDBytes     = 64  // id that a client sends
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

// ValidateName checks the name of a tenant or a stream. Such names occur in URLs, configuration
// and keys. So a name has 1 to 64 letters, digits, dots, underscores and hyphens, and begins with a
// letter or digit. The parameter "what" is the kind of the name for the error message, such as tenant.
func ValidateName(what, name string) error { return printable.CheckName(what, name, MaxNameBytes) }

// ValidateDevice checks the name of a device: 1 to 256 bytes of printable UTF-8, with no space at
// either end.
//
// Slashes, colons and inner spaces are allowed, so network addresses, serial numbers and ARNs are
// valid names.
func ValidateDevice(device string) error {
	if why := printable.Problem(device, MaxDeviceBytes); why != "" {
		return fmt.Errorf("device %s %s", quote.Text(device), why)
	}
	return nil
}

// ValidateNewDevice checks the name of a device like [ValidateDevice], and refuses . and .. as well.
//
// Servers and proxies resolve these names in the path of a URL, so the device could not be read.
// Older readings may have such names, so only new readings, devices and log entries are checked.
func ValidateNewDevice(device string) error {
	if isRelativePath(device) {
		return fmt.Errorf("device %s is a relative path: use another name", quote.Text(device))
	}
	return ValidateDevice(device)
}

func isRelativePath(name string) bool { return name == "." || name == ".." }
