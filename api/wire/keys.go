package wire

import "time"

// KeyDraft is an API key that is to be made.
type KeyDraft struct {
	Name              string     `json:"name,omitempty" maxLength:"100" doc:"for people"`
	Tenant            string     `json:"tenant,omitempty" doc:"tenant of the key; default: the tenant of the key that creates it"`
	Scopes            []string   `json:"scopes" doc:"what it may do: read, write, or both; or admin, which is everything"`
	Expires           *time.Time `json:"expires,omitempty" doc:"when it ends; default: never"`
	RequestsPerSecond float64    `json:"requests_per_second,omitempty" doc:"at most so many, in each process; default: no bound"`
	ReadingsPerSecond float64    `json:"readings_per_second,omitempty" doc:"submitted, at most so many, in each process; default: no bound"`
}

// KeyInfo is an API key as it is listed.
type KeyInfo struct {
	ID                string     `json:"id"`
	Tenant            string     `json:"tenant"`
	Name              string     `json:"name,omitempty"`
	Scopes            []string   `json:"scopes"`
	State             string     `json:"state" enum:"active,expired,revoked"`
	RequestsPerSecond float64    `json:"requests_per_second,omitempty"`
	ReadingsPerSecond float64    `json:"readings_per_second,omitempty"`
	Created           time.Time  `json:"created"`
	Expires           *time.Time `json:"expires" doc:"null: never"`
	Revoked           *time.Time `json:"revoked" doc:"null: it is not"`
}

// NewKey is an API key that was just made.
type NewKey struct {
	KeyInfo
	Key string `json:"key" doc:"the key itself: it is shown this once, and kept nowhere"`
}

// KeyList is the API keys.
type KeyList struct {
	Keys []KeyInfo `json:"keys"`
}
