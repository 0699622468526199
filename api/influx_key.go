package api

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
)

// influxKeyIn returns the API key that a client of InfluxDB sends. The key is a Bearer or Token,
// the password of any user, a user without a password, or the header X-Api-Key. If the request has
// no key or several, it returns "".
func influxKeyIn(h http.Header) string {
	var found []string
	for _, value := range h["Authorization"] {
		scheme, text, _ := strings.Cut(value, " ")
		text = strings.TrimSpace(text)
		switch {
		case strings.EqualFold(scheme, "Bearer"), strings.EqualFold(scheme, "Token"):
			if i := strings.LastIndexByte(text, ':'); i >= 0 {
				text = text[i+1:] // user:key
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

// influxUnauthorized is the error for requests of InfluxDB's routes without a valid key.
var influxUnauthorized = &varve.Error{Failure: varve.Forbidden, Err: errNoKey,
	Message: "unauthorized: this takes a valid API key of Varve: send it as token or as password in the header Authorization; " +
		"the parameters u and p in the address are not read, because logs keep addresses; varve keys create --scope write makes a key"}

// influxKeyShown is the error for a request with an API key in its address.
var influxKeyShown = &varve.Error{Failure: varve.Forbidden, Err: errNoKey,
	Message: "unauthorized: an API key stands in the address, where logs keep it: send it in the header Authorization, as Token " +
		apikeys.Prefix + "… or as the password of Basic, and revoke this one"}
