package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestMCP_SelectsByAttribute checks that each tool over many devices selects them by attributes.
func TestMCP_SelectsByAttribute(t *testing.T) {
	server, _, reader := mcpServer(t)
	s := host(t, server, reader)
	for _, tool := range []struct{ name, stream string }{{"devices", ""}, {"devices", "weather"}, {"latest", "weather"}, {"aggregate", "weather"}} {
		for attribute, want := range map[string]string{"site:north": "s2", "site:south": ""} {
			args := map[string]any{"attributes": []string{attribute}}
			if tool.stream != "" {
				args["stream"] = tool.stream
			}
			if tool.name == "aggregate" {
				args["step"] = "1y"
			}
			var answer struct{ Devices, Latest, Buckets []struct{ Device string } }
			if failure := callTool(t, s, tool.name, args, &answer); failure != "" {
				t.Fatalf("%s with %s: %s", tool.name, attribute, failure)
			}
			var got []string
			for _, one := range slices.Concat(answer.Devices, answer.Latest, answer.Buckets) {
				got = append(got, one.Device)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s of stream %q with %s: %q, want %q", tool.name, tool.stream, attribute, text, want)
			}
		}
	}
	if failure := callTool(t, s, "devices", map[string]any{"attributes": []string{"north"}}, nil); !strings.Contains(failure, "name:value") {
		t.Errorf("an invalid attribute: %q", failure)
	}
}
