package dist

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// schemas is the Go module that has the OpenAPI documents of Kubernetes 1.30.
const schemas = "sigs.k8s.io/kubectl-validate@v0.0.4"

// kinds has the API and the definition of each kind of object in the manifests.
var kinds = map[string][2]string{
	"service":               {"api/v1", "io.k8s.api.core.v1.Service"},
	"persistentvolumeclaim": {"api/v1", "io.k8s.api.core.v1.PersistentVolumeClaim"},
	"statefulset":           {"apis/apps/v1", "io.k8s.api.apps.v1.StatefulSet"},
	"job":                   {"apis/batch/v1", "io.k8s.api.batch.v1.Job"},
}

// writeSchemas writes a JSON schema for each kind. The schemas allow no unknown properties.
func writeSchemas(t *testing.T) (dir string) {
	t.Helper()
	download := exec.Command("go", "mod", "download", "-json", schemas)
	download.Dir = t.TempDir() // outside Varve's module, whose go.mod then does not apply
	text, err := download.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", schemas, err, text)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for kind, at := range kinds {
		data, err := os.ReadFile(filepath.Join(module.Dir, "pkg/openapiclient/builtins/1.30", at[0]+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var api struct {
			Components struct {
				Schemas map[string]map[string]any `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(data, &api); err != nil {
			t.Fatal(err)
		}
		if api.Components.Schemas[at[1]] == nil {
			t.Fatalf("no definition %s", at[1])
		}
		for _, s := range api.Components.Schemas {
			if s["properties"] != nil {
				s["additionalProperties"] = false
			}
		}
		data, err = json.Marshal(map[string]any{"$ref": "#/components/schemas/" + at[1], "components": api.Components})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, kind+".json"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// kubeconform checks a manifest with the schemas in a folder, and returns the report.
func kubeconform(t *testing.T, dir, path string) (report string, err error) {
	t.Helper()
	path, err = filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "tool", "-C", filepath.Join(root, "tools/dist"), "kubeconform", "-verbose", "-summary", "-schema-location", dir+"/{{ .ResourceKind }}.json", path).CombinedOutput()
	return string(text), err
}

// TestManifests_MatchSchemas checks the manifests, and that the check finds a wrong name, a missing
// port and a wrong type.
func TestManifests_MatchSchemas(t *testing.T) {
	dir := writeSchemas(t)
	for _, name := range []string{"varve.yaml", "first-key.yaml"} {
		path := filepath.Join(root, "packaging/kubernetes", name)
		if report, err := kubeconform(t, dir, path); err != nil || !strings.Contains(report, "Valid: 2, Invalid: 0, Errors: 0, Skipped: 0") {
			t.Errorf("%s: %v\n%s", name, err, report)
		}
	}
	good, err := os.ReadFile(filepath.Join(root, "packaging/kubernetes/varve.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"readinessProbe:", "readynessProbe:"}, {"port: 8278", "ports: 8278"}, {"replicas: 1", "replicas: one"}} {
		broken := filepath.Join(t.TempDir(), "broken.yaml")
		if err := os.WriteFile(broken, []byte(strings.Replace(string(good), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if report, err := kubeconform(t, dir, broken); err == nil {
			t.Errorf("%s is accepted:\n%s", change[1], report)
		}
	}
}

// TestManifests_RestartOnlyWithoutAnswer checks that only the readiness probe requests /readyz. Requests
// for /readyz fail while a journal is read or a disk is full, and a restart would not help then.
func TestManifests_RestartOnlyWithoutAnswer(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "packaging/kubernetes/varve.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	probe := ""
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), "Probe:"); ok {
			probe = name
		}
		if strings.Contains(line, "path: /readyz") && probe != "readiness" {
			t.Errorf("the %s probe requests /readyz, want /healthz", probe)
		}
	}
	if probe == "" {
		t.Error("the manifest has no probe")
	}
}
