package varve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/varvedb/varve"

// layout lists the packages of this repository. Each entry names the packages of the repository and
// the outside modules that the package may import. A package imports only packages above it in this
// list.
var layout = []struct {
	dir    string
	own    string // imports from this repository; "." is the root package
	others string
}{
	{"decimal", "", ""},
	{"decimal/decimaltest", "decimal", "pgregory.net/rapid"},
	{"internal/kway", "", ""},
	{"internal/quote", "", ""},
	{"internal/printable", "internal/quote", ""},
	{"internal/plot", "", ""},
	{"internal/contentid", "decimal", "github.com/cespare/xxhash/v2"},
	{"internal/idtext", "", ""},
	{"internal/randomtest", "", ""},
	{"internal/canonjson", "decimal internal/quote", ""},
	{".", "decimal internal/canonjson internal/contentid internal/idtext internal/printable internal/quote", ""},
	{"grid", ".", ""},
	{"internal/snippet", "", ""},
	{"block", ". decimal internal/contentid internal/snippet", ""},
	{"timefmt", ". internal/quote", ""},
	{"internal/settings", "timefmt", ""},
	{"retention", ". timefmt grid", ""},
	{"health", "", ""},
	{"store", ". block grid internal/canonjson", ""},
	{"internal/words", "", ""},
	{"internal/fileerr", "", ""},
	{"internal/filelock", "internal/fileerr", ""},
	{"internal/filesync", "", ""},
	{"internal/heapfloor", "", ""},
	{"internal/cache", "", ""},
	{"internal/wait", "", ""},
	{"internal/turns", "", "golang.org/x/sync"},
	{"internal/acceptlog", "", "github.com/rs/zerolog"},
	{"internal/reuse", "", ""},
	{"internal/stall", "", ""},
	{"devicename", "", ""},
	{"internal/lanes", "", "golang.org/x/sync"},
	{"internal/param", ".", ""},
	{"registry", ". store internal/kway", "github.com/cespare/xxhash/v2 golang.org/x/sync"},
	{"lease", ". registry store", ""},
	{"store/mem", ". grid store", ""},
	{"store/tablescan", ". block grid internal/wait store", ""},
	{"store/local/chunk", ". block decimal", ""},
	{"store/storetest", ". block grid store store/local/chunk store/mem decimal", "pgregory.net/rapid"},
	{"store/local/meta", "", "github.com/cockroachdb/pebble/v2"},
	{"store/local/journal", "store store/local/meta", "github.com/cockroachdb/pebble/v2"},
	{"store/local/diskguard", ". health store/local/journal", "github.com/cockroachdb/pebble/v2"},
	{"store/local/memtable", ". block decimal store/local/chunk store/local/journal", "github.com/klauspost/compress"},
	{"store/local/sst", "", "github.com/cockroachdb/pebble/v2"},
	{"store/local", ". block grid health store internal/lanes internal/reuse store/local/chunk store/local/diskguard store/local/journal store/local/memtable store/local/meta store/local/sst decimal", "github.com/cockroachdb/pebble/v2 github.com/cespare/xxhash/v2 github.com/go-faster/jx golang.org/x/sys/unix"},
	{"store/dynamo/attr", ". decimal", "github.com/aws"},
	{"store/dynamo/client", ". health internal/wait store store/dynamo/attr", "github.com/aws"},
	{"store/dynamo/admin", "store/dynamo/client", "github.com/aws"},
	{"store/dynamo/items", ". store store/dynamo/admin store/dynamo/attr store/dynamo/client", "github.com/aws golang.org/x/sync"},
	{"store/dynamo/template", ". store", ""},
	{"store/dynamo/row", ". grid store store/dynamo/attr", "github.com/aws github.com/cespare/xxhash/v2"},
	{"store/dynamo/tables", ". grid store internal/cache store/dynamo/admin store/dynamo/client store/dynamo/items store/dynamo/row store/dynamo/template", "github.com/aws golang.org/x/sync"},
	{"store/dynamo/layouts", ". grid store store/dynamo/attr store/dynamo/client store/dynamo/row store/dynamo/tables", "github.com/aws golang.org/x/sync"},
	{"store/dynamo/reader", ". grid internal/wait store store/dynamo/admin store/dynamo/attr store/dynamo/client store/dynamo/row store/dynamo/tables internal/kway", "github.com/aws golang.org/x/sync"},
	{"store/dynamo/writer", ". grid store internal/cache store/dynamo/attr store/dynamo/client store/dynamo/layouts store/dynamo/row store/dynamo/tables", "github.com/aws golang.org/x/sync"},
	{"store/dynamo/verify", "grid store store/dynamo/attr store/dynamo/client store/dynamo/reader store/dynamo/row store/dynamo/tables .", ""},
	{"store/dynamo/repair", "grid store store/dynamo/attr store/dynamo/client store/dynamo/layouts store/dynamo/reader store/dynamo/row store/dynamo/tables", ""},
	{"store/dynamo/doctor", ". grid store store/dynamo/admin store/dynamo/attr store/dynamo/client store/dynamo/items store/dynamo/row store/dynamo/tables store/dynamo/template", "github.com/aws"},
	{"store/dynamo", ". grid health store store/dynamo/admin store/dynamo/client store/dynamo/doctor store/dynamo/items store/dynamo/layouts store/dynamo/reader store/dynamo/repair store/dynamo/tables store/dynamo/template store/dynamo/verify store/dynamo/writer", "github.com/aws"},
	{"registry/registrytest", "store store/mem", ""},
	{"devices", ". retention store timefmt internal/param internal/quote registry", "golang.org/x/sync"},
	{"devicelog", ". retention store timefmt internal/param registry", ""},
	{"streams", ". registry store", ""},
	{"fields", ". store", "github.com/cespare/xxhash/v2"},
	{"rejects", ". registry store", ""},
	{"clocks", ". registry store", ""},
	{"apikeys", ". registry store decimal", "golang.org/x/sync golang.org/x/time"},
	{"router", ". grid lease retention store streams timefmt internal/lanes internal/reuse", "golang.org/x/sync"},
	{"filter", ". decimal internal/quote", ""},
	{"query", ". block filter grid internal/quote retention store streams timefmt", "golang.org/x/sync"},
	{"changes", ". lease query registry retention router store", "github.com/cespare/xxhash/v2"},
	{"rollup", ". block grid store lease decimal", "github.com/cespare/xxhash/v2 golang.org/x/sync"},
	{"reconcile", ". block query rollup", ""},
	{"receipts", ". store", ""},
	{"aggregate", ". block decimal filter internal/quote query rollup timefmt", ""},
	{"prometheus", ". block decimal devicename devices query registry rollup streams", "github.com/prometheus/prometheus golang.org/x/sync"},
	{"prometheus/promtest", ". decimal", ""},
	{"rotator", ". grid retention store lease timefmt", "github.com/robfig/cron/v3"},
	{"calendar", "grid retention rotator store", ""},
	{"cloudwatch", "rotator", ""},
	{"alerts", ". devices store lease timefmt internal/param internal/quote registry", "golang.org/x/sync"},
	{"notify", ". alerts internal/quote lease registry store", "golang.org/x/sync"},
	{"notify/mqtt", "notify", "github.com/eclipse/paho.mqtt.golang"},
	{"notify/sns", "notify", "github.com/aws"},
	{"objectstore", "", ""},
	{"objectstore/folder", "objectstore internal/filesync", ""},
	{"objectstore/s3", "objectstore internal/wait", "github.com/aws"},
	{"objectstore/objectstest", "objectstore", "golang.org/x/sync"},
	{"archive/parquetfile", ". block decimal", "github.com/cespare/xxhash/v2 github.com/parquet-go/parquet-go"},
	{"archive", ". archive/parquetfile block grid internal/cache internal/lanes internal/turns internal/wait objectstore registry store store/tablescan", "github.com/cespare/xxhash/v2 golang.org/x/sync"},
	{"erasures", ". alerts archive devicelog devices grid lease registry rejects rollup store streams", ""},
	{"rewind", ". rollup store", ""},
	{"engine", ". erasures archive changes internal/lanes objectstore grid clocks rejects fields alerts notify devicelog devices health apikeys query retention rollup rotator router store lease streams", "github.com/robfig/cron/v3"},
	{"arrivals", ".", ""},
	{"console", "", ""},
	{"console/generate", "", "github.com/evanw/esbuild"},
	{"api/wire", ". aggregate block devicename query rollup decimal internal/quote internal/reuse internal/snippet timefmt", "github.com/go-faster/jx"},
	{"api/arrowstream", ". api/wire block decimal", "github.com/apache/arrow-go/v18/arrow"},
	{"api/client", ". api/wire query receipts reconcile rollup timefmt", ""},
	{"backup", "objectstore internal/filesync", ""},
	{"mcp", ". aggregate api/client api/wire query", "github.com/google/jsonschema-go/jsonschema github.com/modelcontextprotocol/go-sdk/jsonrpc github.com/modelcontextprotocol/go-sdk/mcp"},
	{"export", ". api/client api/wire archive/parquetfile internal/fileerr internal/filelock internal/filesync", ""},
	{"upload", ". api/client api/wire archive/parquetfile internal/fileerr reconcile", "github.com/klauspost/compress golang.org/x/sync"},
	{"ingest", ". api/wire apikeys clocks internal/lanes internal/reuse rejects router", ""},
	{"api/writes", ". api/wire apikeys ingest internal/quote", "github.com/klauspost/compress"},
	{"mqtt/topic", ". api/wire internal/quote", "github.com/go-faster/jx"},
	{"ingest/records", ". api/wire apikeys ingest internal/quote", "github.com/go-faster/jx"},
	{"config", ". alerts prometheus notify notify/mqtt notify/sns api/wire mqtt/topic ingest/records rejects grid fields devicelog internal/quote internal/settings router retention rollup rotator store timefmt", "github.com/knadh/koanf go.yaml.in/yaml/v3"},
	{"ingest/consumer", "", "github.com/aws github.com/prometheus/client_golang"},
	{"ingest/sqs", "apikeys health ingest/consumer ingest/records", "github.com/aws"},
	{"ingest/kinesis", ". apikeys health lease registry store ingest/consumer ingest/records", "github.com/aws"},
	{"api", ". erasures archive arrivals changes receipts reconcile clocks rejects aggregate prometheus api/arrowstream api/wire api/writes block calendar filter ingest ingest/records grid alerts notify devicelog devicename devices health registry apikeys query retention rollup rotator router store store/tablescan lease streams decimal timefmt internal/quote internal/stall internal/turns",
		"github.com/danielgtaylor/huma/v2 github.com/go-faster/jx github.com/klauspost/compress github.com/prometheus/client_golang github.com/prometheus/common golang.org/x/sync golang.org/x/time"},
	{"mqtt", ". api/wire apikeys health ingest internal/lanes internal/quote mqtt/topic rejects", "github.com/eclipse/paho.golang github.com/eclipse/paho.mqtt.golang github.com/mochi-mqtt/server/v2 github.com/prometheus/client_golang"},
	{"agent/outbox", ". internal/filelock internal/filesync", ""},
	{"agent/intake", ". agent/outbox api/wire ingest internal/reuse", ""},
	{"agent/uplink", ". agent/outbox api/client api/wire reconcile rollup", "github.com/klauspost/compress golang.org/x/time"},
	{"agent/settings", "agent/outbox api/wire internal/settings mqtt/topic timefmt", "go.yaml.in/yaml/v3"},
	{"agent", ". agent/intake agent/outbox agent/settings agent/uplink api/client api/wire api/writes apikeys ingest internal/acceptlog internal/stall mqtt rejects", "github.com/prometheus/client_golang github.com/rs/zerolog"},
	{"agent/command", "agent agent/settings", "github.com/rs/zerolog github.com/spf13"},
	{"cmd/varve-agent", "agent/command", ""},
	{"cmd/varve", ". erasures rewind archive objectstore/folder objectstore/s3 receipts reconcile agent/command backup console export rejects aggregate alerts mcp mqtt api api/client api/wire calendar grid cloudwatch config engine notify notify/mqtt notify/sns health apikeys query retention rollup rotator router store store/dynamo lease store/local store/mem streams decimal timefmt devices internal/acceptlog internal/fileerr internal/heapfloor internal/plot ingest/consumer ingest/kinesis ingest/records ingest/sqs upload",
		"github.com/spf13 golang.org/x/term github.com/rs/zerolog github.com/vbauerster/mpb/v8 github.com/prometheus/client_golang"},
	{"tests/dynamosim/value", "", "github.com/go-faster/jx"},
	{"tests/dynamosim/expr", "tests/dynamosim/value", ""},
	{"tests/dynamosim/capacity", "", ""},
	{"tests/dynamosim", "tests/dynamosim/capacity tests/dynamosim/expr tests/dynamosim/value", "github.com/cespare/xxhash/v2 github.com/go-faster/jx"},
	{"tests/dynamosim/cmd", "tests/dynamosim tests/dynamosim/capacity", ""},
	{"tests/varvetest", "", ""},
	{"tests/dynamotest", "tests/varvetest", "github.com/aws"},
	{"tests/s3test", "tests/varvetest", ""},
	{"tests/bench", ". archive export grid engine objectstore/folder query rotator store store/dynamo store/local store/mem tests/dynamosim tests/dynamotest decimal", "github.com/aws github.com/eclipse/paho.mqtt.golang"},
	{"tests/access", "", ""},
	{"tests/agent", "", ""},
	{"tests/crash", "", ""},
	{"tests/damage", "", ""},
	{"tests/dist", "", ""},
	{"tests/e2e", "", ""},
	{"tests/terraform", "", ""},
	{"tests/terraform/provider", "", ""},
	{"tests/terraform/emulator", "", ""},
	{"tests/terraform/emulator/serve", "tests/dynamotest tests/terraform/emulator", ""},
}

// sources returns the parsed production Go files of the repository, by folder. It skips hidden
// folders and folders named testdata or tools.
func sources(t *testing.T) map[string][]*ast.File {
	t.Helper()
	files := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "tools" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			dir := filepath.ToSlash(filepath.Dir(path))
			files[dir] = append(files[dir], f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestImports_PointDown(t *testing.T) {
	files := sources(t)
	above := []string{}
	for _, p := range layout {
		own, others := strings.Fields(p.own), strings.Fields(p.others)
		for _, dir := range own {
			if !slices.Contains(above, dir) {
				t.Errorf("the layout lets %s import %s, which does not stand above it", p.dir, dir)
			}
		}
		above = append(above, p.dir)
		if len(files[p.dir]) == 0 {
			t.Errorf("the layout has a package %s, and there is none", p.dir)
		}
		for _, f := range files[p.dir] {
			for _, imp := range f.Imports {
				checkImport(t, p.dir, strings.Trim(imp.Path.Value, `"`), own, others)
			}
		}
	}
	for dir := range files {
		if !slices.Contains(above, dir) {
			t.Errorf("package %s is not in the layout", dir)
		}
	}
}

func checkImport(t *testing.T, dir, path string, own, others []string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(path, module); ok {
		if rest = strings.TrimPrefix(rest, "/"); rest == "" {
			rest = "."
		}
		if !slices.Contains(own, rest) {
			t.Errorf("%s imports %s, which the layout does not let it", dir, rest)
		}
		return
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return // packages of the standard library are always allowed
	}
	for _, o := range others {
		if path == o || strings.HasPrefix(path, o+"/") {
			return
		}
	}
	t.Errorf("%s imports %s, which the layout does not let it", dir, path)
}

// TestLayout_ConfinesDynamoParts checks that only store/dynamo and its sub-packages import the
// sub-packages of store/dynamo. Outside of store/dynamo, notify/sns and objectstore/s3, only tests and
// the consumers of queues may import the AWS SDK or a part of it.
func TestLayout_ConfinesDynamoParts(t *testing.T) {
	consumers := []string{"ingest/consumer", "ingest/kinesis", "ingest/sqs"}
	inside := func(dir string) bool {
		return dir == "notify/sns" || dir == "objectstore/s3" || dir == "store/dynamo" || strings.HasPrefix(dir, "store/dynamo/")
	}
	for _, p := range layout {
		if inside(p.dir) {
			continue
		}
		for _, own := range strings.Fields(p.own) {
			if strings.HasPrefix(own, "store/dynamo/") {
				t.Errorf("the layout lets %s import %s: import store/dynamo", p.dir, own)
			}
		}
		isSDK := func(path string) bool { return strings.HasPrefix(path, "github.com/aws") }
		if slices.ContainsFunc(strings.Fields(p.others), isSDK) && !strings.HasPrefix(p.dir, "tests/") && !slices.Contains(consumers, p.dir) {
			t.Errorf("the layout lets %s import the AWS SDK: only store/dynamo, the consumers and the tests may", p.dir)
		}
	}
}

// TestPurePackages_UseNoEnvironment checks that pure packages use no clock, files, network,
// environment or random numbers.
func TestPurePackages_UseNoEnvironment(t *testing.T) {
	files := sources(t)
	for _, dir := range []string{".", "grid", "retention", "store/local/chunk", "store/dynamo/attr", "store/dynamo/row", "store/dynamo/template"} {
		for _, f := range files[dir] {
			for _, imp := range f.Imports {
				if path := strings.Trim(imp.Path.Value, `"`); slices.Contains([]string{"os", "net", "io/fs", "net/http", "math/rand", "math/rand/v2"}, path) {
					t.Errorf("%s imports %s", dir, path)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "NewTimer"}, s.Sel.Name) {
						t.Errorf("%s asks for the time: time.%s", dir, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// TestPackages_AreDocumented checks that every package has a package comment.
func TestPackages_AreDocumented(t *testing.T) {
	for dir, files := range sources(t) {
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc != nil && len(f.Doc.Text()) > 40 }) {
			t.Errorf("package %s has no documentation", dir)
		}
	}
}

// TestContributing_ListsPackages checks that the table of folders in CONTRIBUTING.md has each package of the
// layout, and no folder that is missing. Tests, internal packages and the parts of stores need no entries of
// their own.
func TestContributing_ListsPackages(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Where things are")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, span := range codeSpan.FindAllStringSubmatch(first, -1) {
			listed[span[1]] = true
			if _, err := os.Stat(span[1]); err != nil {
				t.Errorf("CONTRIBUTING.md lists %s, which does not exist", span[1])
			}
		}
	}
	inWhole := []string{"internal/", "tests/", "store/dynamo/", "store/local/"}
	for _, p := range layout {
		isPart := slices.ContainsFunc(inWhole, func(prefix string) bool { return strings.HasPrefix(p.dir, prefix) })
		if !isPart && !strings.HasSuffix(p.dir, "test") && !listed[p.dir] {
			t.Errorf("CONTRIBUTING.md does not list %s: add it to the table of folders", p.dir)
		}
	}
}
