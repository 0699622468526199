package wire

import "time"

// KeyDraft is the body of a request to create an API key.
type KeyDraft struct {
	Name              string     `json:"name,omitempty" maxLength:"100" doc:"for people"`
	Tenant            string     `json:"tenant,omitempty" doc:"tenant of the key; default: the tenant of the key that creates it"`
	Scopes            []string   `json:"scopes" doc:"what it may do: read, write, or both; or admin, which is everything"`
	Expires           *time.Time `json:"expires,omitempty" doc:"when it ends; default: never"`
	RequestsPerSecond float64    `json:"requests_per_second,omitempty" doc:"largest number of requests a second, in each process; default: no limit"`
	ReadingsPerSecond float64    `json:"readings_per_second,omitempty" doc:"largest number of submitted readings a second, in each process; default: no limit"`
}

// KeyInfo describes an API key without its secret.
type KeyInfo struct {
	ID                string     `json:"id"`
	Tenant            string     `json:"tenant"`
	Name              string     `json:"name,omitempty"`
	Scopes            []string   `json:"scopes"`
	State             string     `json:"state" enum:"active,expired,revoked"`
	RequestsPerSecond float64    `json:"requests_per_second,omitempty"`
	ReadingsPerSecond float64    `json:"readings_per_second,omitempty"`
	Created           time.Time  `json:"created"`
	Expires           *time.Time `json:"expires" doc:"null means never"`
	Revoked           *time.Time `json:"revoked" doc:"null if it is not revoked"`
	Used              *time.Time `json:"used,omitempty" doc:"the last use, to the minute; absent if no use is known. Only in lists"`
}

// NewKey is an API key with its secret, in the answer to its creation.
type NewKey struct {
	KeyInfo
	Key string `json:"key" doc:"the secret: it is shown only once, and never stored"`
}

// KeyList lists API keys.
type KeyList struct {
	Keys []KeyInfo `json:"keys"`
}

// GrantBody describes the rights of a request.
type GrantBody struct {
	Tenant   string   `json:"tenant"`
	Scopes   []string `json:"scopes" doc:"rights within the tenant: read, write, admin"`
	Operator bool     `json:"operator" doc:"may manage tables and all keys"`
	Watcher  bool     `json:"watcher" doc:"may read the state of the deployment"`
	KeysOn   bool     `json:"keys_on" doc:"an API key exists, so every request needs one"`
	Version  string   `json:"version" doc:"version of the server"`
}
