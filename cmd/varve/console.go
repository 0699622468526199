package main

import (
	"net/http"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/console"
)

// consoleOf returns the console, or nil if it is off.
func consoleOf(c *config.Config) func(notFound http.Handler) http.Handler {
	if !c.Console.Enabled {
		return nil
	}
	return console.Handler
}
