package config

import (
	"net/url"
	"slices"
	"strings"
)

// Value is one configured value.
type Value struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Default string `json:"default,omitempty"` // "" if the default is empty, or for a setting of a single stream, notifier or topic
	Origin  string `json:"origin"`
	Doc     string `json:"doc"`
}

// Values lists all values with their origins.
func (l *Loaded) Values() []Value {
	unset := Default()
	defaults := unset.keys()
	var values []Value
	for _, key := range l.keys() {
		s, ok := find(key)
		if !ok {
			continue
		}
		origin, ok := l.Origins[key]
		if !ok {
			origin = "default"
		}
		v := Value{Key: key, Value: s.Get(&l.Config), Origin: origin, Doc: s.Doc}
		if slices.Contains(defaults, key) {
			v.Default = s.Get(&unset)
		}
		values = append(values, v)
	}
	return values
}

// PublicValues lists all values as other people may see them. In each password, and each part of a
// notifier's address that may be a token, the text is replaced by the constant hidden. Settings never
// contain other secrets: those are in files and variables.
func (l *Loaded) PublicValues() []Value {
	values := l.Values()
	for i := range values {
		values[i].Value = publicText(values[i].Key, values[i].Value)
	}
	return values
}

// hidden replaces a secret.
const hidden = "hidden"

func publicText(key, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		if strings.Contains(text, "://") && strings.Contains(text, "@") {
			return hidden
		}
		return text
	}
	if u.Host == "" || u.Scheme == "" {
		return text
	}
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	if strings.HasPrefix(key, "notifiers.") && strings.Trim(u.Path, "/") != "" {
		u.Path, u.RawPath = "/"+hidden, ""
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	return u.String()
}
