package terraform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store/dynamo"
)

func (p *planned) resources(kind string) (all []*tfjson.StateResource) {
	for _, r := range p.ResourcePlannedValuesMap {
		if r.Type == kind && r.Mode == tfjson.ManagedResourceMode {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *tfjson.StateResource) int { return strings.Compare(a.Address, b.Address) })
	return all
}

func blocks(attributes map[string]any, name string) (all []map[string]any) {
	list, _ := attributes[name].([]any)
	for _, b := range list {
		if m, ok := b.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// onlyRegistry checks that the plan has only one table, which is the registry, and nothing else of
// DynamoDB except items.
func onlyRegistry(_ *testing.T, p *planned) (wrong []string) {
	for _, r := range p.ResourcePlannedValuesMap {
		if r.Mode == tfjson.ManagedResourceMode && (strings.HasPrefix(r.Type, "aws_dynamodb_") || strings.HasPrefix(r.Type, "aws_appautoscaling_")) &&
			r.Type != "aws_dynamodb_table" && r.Type != "aws_dynamodb_table_item" {
			wrong = append(wrong, r.Address+" is not Terraform's")
		}
	}
	if tables := p.resources("aws_dynamodb_table"); len(tables) != 1 || tables[0].AttributeValues["name"] != registryOf(p) {
		wrong = append(wrong, fmt.Sprintf("%d tables, and one is wanted: the registry", len(tables)))
	}
	return wrong
}

// registryOf returns the name of the registry in the planned configuration of Varve.
func registryOf(p *planned) string {
	c, _ := configOf(p)
	store, _ := c["store"].(map[string]any)
	name, _ := store["registry"].(string)
	return name
}

// registryTable checks that the keys, indexes, TTL and tag of the planned registry are as the
// program expects. The registry must have deletion protection and point-in-time recovery.
func registryTable(_ *testing.T, p *planned) (wrong []string) {
	tables := p.resources("aws_dynamodb_table")
	if len(tables) == 0 {
		return []string{"there is no registry"}
	}
	a := tables[0].AttributeValues
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	want, got := map[string]string{}, map[string]string{"": fmt.Sprintf("%v %v", a["hash_key"], a["range_key"])}
	attributes := map[string]string{}
	for _, ix := range dynamo.RegistryIndexes() {
		want[ix.Name] = ix.PK + " " + ix.SK
		attributes[ix.PK], attributes[ix.SK] = "S", "S"
	}
	for _, g := range blocks(a, "global_secondary_index") {
		var keys []string
		for i, k := range blocks(g, "key_schema") {
			if k["key_type"] != []string{"HASH", "RANGE"}[i] {
				bad("key %d of %v is %v", i, g["name"], k["key_type"])
			}
			keys = append(keys, fmt.Sprint(k["attribute_name"]))
		}
		got[fmt.Sprint(g["name"])] = strings.Join(keys, " ")
		if g["projection_type"] != "ALL" {
			bad("%v holds %v", g["name"], g["projection_type"])
		}
	}
	if !reflect.DeepEqual(got, want) {
		bad("the keys are %v, want %v", got, want)
	}
	have := map[string]string{}
	for _, at := range blocks(a, "attribute") {
		have[fmt.Sprint(at["name"])] = fmt.Sprint(at["type"])
	}
	if !reflect.DeepEqual(have, attributes) {
		bad("the attributes are %v, want %v", have, attributes)
	}
	if ttl := blocks(a, "ttl"); len(ttl) != 1 || ttl[0]["attribute_name"] != dynamo.RegistryTTL || ttl[0]["enabled"] != true {
		bad("TTL is %v", ttl)
	}
	if tags, _ := a["tags"].(map[string]any); tags[dynamo.OwnerTag] != a["name"] {
		bad("the owner tag is %v, want %v", tags[dynamo.OwnerTag], a["name"])
	}
	if a["billing_mode"] != "PAY_PER_REQUEST" || a["deletion_protection_enabled"] != true {
		bad("billing is %v, deletion protection %v", a["billing_mode"], a["deletion_protection_enabled"])
	}
	if r := blocks(a, "point_in_time_recovery"); len(r) != 1 || r[0]["enabled"] != true {
		bad("point-in-time recovery is %v", r)
	}
	return wrong
}

// registryEncrypted checks that the KMS key of the user encrypts the registry.
func registryEncrypted(_ *testing.T, p *planned) (wrong []string) {
	for _, r := range p.resources("aws_dynamodb_table") {
		if sse := blocks(r.AttributeValues, "server_side_encryption"); len(sse) != 1 || sse[0]["enabled"] != true || sse[0]["kms_key_arn"] != kmsKey {
			wrong = append(wrong, fmt.Sprintf("the registry's encryption is %v", sse))
		}
	}
	return wrong
}

// templateOf parses the planned table template as the rotator does.
func templateOf(p *planned) (t dynamo.Template, err error) {
	items := p.resources("aws_dynamodb_table_item")
	if len(items) != 1 {
		return t, fmt.Errorf("%d items, want 1: the template", len(items))
	}
	text, ok := items[0].AttributeValues["item"].(string)
	if !ok {
		return t, fmt.Errorf("the template is unknown at plan time")
	}
	var item map[string]map[string]string
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		return t, err
	}
	key := dynamo.TemplateKey()
	ix := dynamo.RegistryIndexes()[0]
	if item[ix.PK]["S"] != key.PK || item[ix.SK]["S"] != key.SK || items[0].AttributeValues["table_name"] != registryOf(p) || len(item) != 3 {
		return t, fmt.Errorf("the template's item is %s", text)
	}
	return dynamo.ParseTemplate([]byte(item[dynamo.TemplateAttr]["S"]))
}

// templateDecodes checks that the program can parse the planned template, and that the template
// is as the example defines it.
func templateDecodes(_ *testing.T, p *planned) []string {
	got, err := templateOf(p)
	if err != nil {
		return []string{err.Error()}
	}
	yes := true
	want := dynamo.Template{
		Settings: dynamo.Settings{
			Billing:     dynamo.Provisioned,
			Capacity:    map[string]dynamo.Capacity{"hot": {Read: 50, Write: 200}, "warm": {Read: 10, Write: 10}, "cold": {Read: 2, Write: 1}},
			CapacityMax: map[string]dynamo.Capacity{"hot": {Read: 200, Write: 2000}, "cold": {Read: 100, Write: 5}},
			TableClass:  map[string]string{"cold": dynamo.InfrequentAccess},
			KMSKey:      kmsKey, PointInTimeRecovery: &yes, Tags: map[string]string{"project": "varve"},
		},
		Classes: map[string]dynamo.Settings{"audit": {Billing: dynamo.OnDemand, Tags: map[string]string{"audit": "yes"}}},
	}
	if !reflect.DeepEqual(got, want) {
		return []string{fmt.Sprintf("the template is %+v, want %+v", got, want)}
	}
	return nil
}

// templateIsEmpty checks that a plan without template settings has an empty template.
func templateIsEmpty(_ *testing.T, p *planned) []string {
	got, err := templateOf(p)
	if err != nil {
		return []string{err.Error()}
	}
	if !reflect.DeepEqual(got, dynamo.Template{}) {
		return []string{fmt.Sprintf("the template is %+v", got)}
	}
	return nil
}

func configOf(p *planned) (map[string]any, error) {
	out := p.RawPlan.PlannedValues.Outputs["service_config"]
	if out == nil {
		return nil, fmt.Errorf("missing output service_config")
	}
	c, ok := out.Value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("service_config is unknown at plan time: %v", out.Value)
	}
	return c, nil
}

// loadConfig loads the planned service_config from a file, as the program does.
func loadConfig(t *testing.T, p *planned) (*config.Loaded, error) {
	c, err := configOf(p)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(t.TempDir(), "varve.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	return config.Load(config.Source{File: path, Required: true})
}

// configDecodes checks that the planned service_config is valid and matches the planned
// resources.
func configDecodes(t *testing.T, p *planned) (wrong []string) {
	loaded, err := loadConfig(t, p)
	if err != nil {
		return []string{err.Error()}
	}
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if loaded.Store.Kind != "dynamodb" || loaded.Store.Region != region || loaded.Store.Registry != loaded.Tables.Prefix+"_registry" {
		bad("the store is %+v, the prefix %s", loaded.Store, loaded.Tables.Prefix)
	}
	for _, r := range p.resources("aws_dynamodb_table") {
		if r.AttributeValues["name"] != loaded.Store.Registry {
			bad("the registry is %v, in the configuration %s", r.AttributeValues["name"], loaded.Store.Registry)
		}
	}
	if alarms := len(p.resources("aws_cloudwatch_metric_alarm")); loaded.Metrics.CloudWatch != (alarms > 0) {
		bad("metrics for CloudWatch: %t, with %d alarms on them", loaded.Metrics.CloudWatch, alarms)
	}
	template, err := templateOf(p)
	if err != nil {
		bad("%v", err)
	}
	for class := range template.Classes {
		if _, ok := loaded.Classes[class]; !ok {
			bad("the template has a class %s, and the configuration has none", class)
		}
	}
	return wrong
}

// configComplete checks that the program receives every setting of the example, and no other.
func configComplete(t *testing.T, p *planned) (wrong []string) {
	loaded, err := loadConfig(t, p)
	if err != nil {
		return []string{err.Error()}
	}
	got := map[string]string{}
	for _, v := range loaded.Values() {
		if v.Origin != "default" {
			got[v.Key] = v.Value
		}
	}
	want := map[string]string{
		"store.kind": "dynamodb", "store.region": region, "store.registry": "varve_registry", "tables.prefix": "varve",
		"server.hosts": "varve.example.com", "retention.drop": "archived", "retention.grace": "2w", "metrics.cloudwatch": "true",
		"classes.default.retention": "1y", "classes.audit.retention": "forever",
		"ingest.kinesis.name": "varve-readings", "ingest.kinesis.stream": "weather", "ingest.kinesis.params": "fields=flat",
		"notifiers.on-call.kind": "webhook", "notifiers.on-call.url": "https://pager.example.com/hook",
		"notifiers.on-call.secret_env": "HOOK_SECRET", "notifiers.on-call.severities": "critical",
		"notifiers.team.kind": "sns", "notifiers.team.topic": "arn:aws:sns:eu-central-1:" + account + ":alerts",
		"alerts.url": "https://varve.example.com", "rejects.limit": "50000", "rejects.retention": "60d",
		"influx.databases": "telegraf", "aws.firehose": "true", "aws.iot.accounts": account,
		"archive.kind": "s3", "archive.bucket": "varve-archive-" + account, "archive.region": region, "archive.retention": "10y",
		"streams.access-log.class": "audit", "streams.vibration.retention": "30d", "streams.vibration.archive": "true",
	}
	if got["retention.grace"] == "14d" {
		want["retention.grace"] = "14d"
	}
	if !reflect.DeepEqual(got, want) {
		wrong = append(wrong, fmt.Sprintf("it is told %v, want %v", got, want))
	}
	return wrong
}
