package api_test

import (
	"slices"
	"strings"
)

func isProm(path string) bool {
	return strings.HasPrefix(path, "/prometheus/api/v1/") || strings.HasPrefix(path, "/api/v1/")
}

// init adds the routes of Prometheus' query API, below both roots, to the tables of routes. It inserts
// them before the route that creates the first key, because all later requests need a key.
func init() {
	for _, root := range []string{"/prometheus", ""} {
		for path, methods := range map[string]string{
			"query?query=1": "GET POST", "query_range?query=1&start=0&end=1&step=1": "GET POST", "series?match[]=up": "GET POST", "labels": "GET POST",
			"label/{name}/values": "GET", "metadata": "GET", "query_exemplars?query=1": "GET POST", "rules": "GET", "alerts": "GET", "status/buildinfo": "GET",
		} {
			for method := range strings.FieldsSeq(methods) {
				name, _, _ := strings.Cut(path, "?")
				pattern := method + " " + root + "/api/v1/" + name
				routes = slices.Insert(routes, 0, struct {
					pattern, path, body string
					status              int
					media               string
				}{pattern, root + "/api/v1/" + strings.ReplaceAll(path, "{name}", "device"), "", 200, "application/json"})
				access[pattern] = []int{401, 200, 403, 200, 200, 200, 403, 200}
			}
		}
	}
}
