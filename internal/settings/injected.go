package settings

import (
	"regexp"
	"strings"
)

// injected matches the variables that Kubernetes and Docker add for a service with a name such as
// varve, varve-writer or varve-agent.
var injected = regexp.MustCompile(`^VARVE(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// IsInjected reports whether Kubernetes or Docker added a variable. An operator may also set a variable
// such as VARVE_PORT by mistake. So if a name ends with _PORT, the value decides: Kubernetes and Docker
// set an address such as tcp://10.0.0.1:8278.
func IsInjected(name, value string) bool {
	return injected.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}
