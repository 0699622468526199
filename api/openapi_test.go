package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestOpenAPI_HasTypesAndFormats checks that the OpenAPI document has the types of parameters, the
// address of the server, and the formats of readings.
func TestOpenAPI_HasTypesAndFormats(t *testing.T) {
	s := newServer(t, nil)
	doc := decode[struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			Parameters []struct {
				Name   string
				Schema struct {
					Type string
					Enum []string
				}
			}
			Responses map[string]struct{ Content map[string]any }
		}
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}](s.get("/openapi.json"))
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("servers %+v", doc.Servers)
	}
	want := map[string]string{
		"limit": "integer []", "explain": "boolean []", "consistent": "boolean []", "order": "string [asc desc]", "period": "string [hourly daily]", "by": "string [event arrival]",
		"precision": "string [s ms us ns]", "numbers": "string [exact float]", "format": "string [json ndjson csv]",
	}
	seen := map[string]bool{}
	for path, ops := range doc.Paths {
		for _, op := range ops {
			for _, p := range op.Parameters {
				if p.Name == "format" && strings.HasSuffix(path, "/readings") && fmt.Sprint(p.Schema.Enum) == "[json ndjson csv columns arrow]" {
					continue // the expected formats of a read
				}
				if p.Name == "format" && strings.HasSuffix(path, "/readings") && fmt.Sprint(p.Schema.Enum) == "[json ndjson csv line]" {
					continue // the expected formats of a write
				}
				if w := want[p.Name]; w != "" && fmt.Sprint(p.Schema.Type, " ", p.Schema.Enum) != w {
					t.Errorf("%s: %s is %+v, want %s", path, p.Name, p.Schema, w)
				}
				seen[p.Name] = true
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no parameter %s", name)
		}
	}
	content := doc.Paths["/v1/streams/{stream}/devices/{device}/readings"]["get"].Responses["200"].Content
	for _, media := range []string{"application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"} {
		if content[media] == nil {
			t.Errorf("readings do not come as %s", media)
		}
	}
	if got := doc.Components.Schemas["SubmittedReading"].Required; slices.Contains(got, "device") || !slices.Contains(got, "time") || !slices.Contains(got, "fields") {
		t.Errorf("required: %v", got)
	}
}

func TestDescription_HasAnswersOfHealthRoutes(t *testing.T) {
	s := newServer(t, nil)
	doc := decode[struct {
		Paths map[string]map[string]struct{ Responses map[string]any }
	}](s.get("/openapi.json"))
	for path, statuses := range map[string]string{
		"/healthz": "200", "/readyz": "200 503", "/ping": "200 204", "/health": "200 503", "/ready": "200 503", "/api/v2/ready": "200 503",
	} {
		answers := slices.Sorted(maps.Keys(doc.Paths[path]["get"].Responses))
		if got := strings.Join(answers, " "); got != statuses+" default" {
			t.Errorf("%s has the answers %q, want %s", path, got, statuses)
		}
	}
}
