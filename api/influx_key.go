package api

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
)

// influxUnauthorized is the error for requests of InfluxDB's routes without a valid key.
var influxUnauthorized = &varve.Error{Failure: varve.Forbidden, Err: errNoKey,
	Message: "unauthorized: this requires a valid API key of Varve: send it as token or as password in the header Authorization; " +
		"the parameters u and p in the address are not read, because logs keep addresses; varve keys create --scope write makes a key"}

// influxKeyShown is the error for a request with an API key in its address.
var influxKeyShown = &varve.Error{Failure: varve.Forbidden, Err: errNoKey,
	Message: "unauthorized: an API key stands in the address, where logs keep it: send it in the header Authorization, as Token " +
		apikeys.Prefix + "… or as the password of Basic, and revoke this one"}
