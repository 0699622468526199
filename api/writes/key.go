package writes

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// LineKeyIn returns the API key that a client of InfluxDB sends: in the header Authorization, or in
// X-Api-Key. If the request has no key or several, it returns "".
//
// With the schemes Bearer and Token, the key may follow a user and a colon. With Basic, it is the
// password, or the user if the password is empty.
func LineKeyIn(h http.Header) string {
	var found []string
	for _, value := range h["Authorization"] {
		scheme, text, _ := strings.Cut(value, " ")
		text = strings.TrimSpace(text)
		switch {
		case strings.EqualFold(scheme, "Bearer"), strings.EqualFold(scheme, "Token"):
			if i := strings.LastIndexByte(text, ':'); i >= 0 {
				text = text[i+1:] // the text was USER:KEY
			}
		case strings.EqualFold(scheme, "Basic"):
			text = basicKey(text)
		default:
			continue
		}
		if text != "" {
			found = append(found, text)
		}
	}
	found = append(found, h["X-Api-Key"]...)
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// basicKey returns the password of Basic credentials, or the user if the password is empty.
func basicKey(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	user, password, _ := strings.Cut(string(plain), ":")
	if password == "" {
		return user
	}
	return password
}

// KeyIn returns the API key in the headers of a request. It returns "" if the request has none,
// or several.
func KeyIn(h http.Header) string {
	var found []string
	for _, value := range h["Authorization"] {
		// Ignore other schemes, which are meant for a proxy in front of the server.
		if scheme, text, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
			found = append(found, strings.TrimLeft(text, " "))
		}
	}
	found = append(found, h["X-Api-Key"]...)
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
