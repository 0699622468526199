package terraform_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/gruntwork-io/terratest/modules/terraform"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/terraform/emulator"
)

// stack is an applied copy of the local example, which uses an emulator.
type stack struct {
	options  *terraform.Options
	emulator *emulator.Emulator
	registry string
	client   *dynamodb.Client
}

// newStack applies the local example with a prefix and further variables. At the end of the test,
// it destroys the remaining resources.
func newStack(t *testing.T, e *emulator.Emulator, prefix string, vars map[string]any) *stack {
	t.Helper()
	endpoint := newEndpoint(t, e)
	all := map[string]any{"prefix": prefix, "endpoint": endpoint.url}
	maps.Copy(all, vars)
	s := &stack{
		options:  options(t, filepath.Join(copied(t), "examples", "local"), endpoint.url, all),
		emulator: e, registry: prefix + "_registry", client: dynamotest.Client(endpoint.url),
	}
	initialize(t, s.options)
	t.Cleanup(func() {
		// The context of the test has ended here.
		ctx := context.WithoutCancel(t.Context())
		s.options.Vars["deletion_protection"] = false
		if _, err := terraform.ApplyContextE(t, ctx, s.options); err != nil {
			t.Error(err)
		}
		if _, err := terraform.DestroyContextE(t, ctx, s.options); err != nil {
			t.Error(err)
		}
	})
	s.apply(t)
	return s
}

func (s *stack) apply(t *testing.T) {
	t.Helper()
	if _, err := terraform.ApplyContextE(t, t.Context(), s.options); err != nil {
		t.Fatal(err)
	}
}

// The exit codes of terraform plan -detailed-exitcode.
const (
	noChanges = 0
	changed   = 2
)

// mustPlan runs terraform plan and checks that its exit code is as wanted.
func (s *stack) mustPlan(t *testing.T, want int, when string) {
	t.Helper()
	got, err := terraform.PlanExitCodeContextE(t, t.Context(), s.options)
	if err != nil || got != want {
		text, _ := terraform.PlanContextE(t, t.Context(), s.options)
		t.Fatalf("%s, terraform plan ends with %d (%v), want %d\n%s", when, got, err, want, text)
	}
}

// configFile writes the output service_config to a file in a folder, as the documentation
// recommends.
func (s *stack) configFile(t *testing.T, dir string) {
	t.Helper()
	text, err := terraform.OutputJSONContextE(t, t.Context(), s.options, "service_config")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "varve.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) describe(t *testing.T, table string) *types.TableDescription {
	t.Helper()
	out, err := s.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Table
}

func (s *stack) tags(t *testing.T, table string) map[string]string {
	t.Helper()
	out, err := s.client.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: s.describe(t, table).TableArn})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

// tables returns the names of all tables except registries.
func (s *stack) tables(t *testing.T) (names []string) {
	t.Helper()
	in := &dynamodb.ListTablesInput{}
	for {
		out, err := s.client.ListTables(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range out.TableNames {
			if !strings.HasSuffix(name, "_registry") {
				names = append(names, name)
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return names
		}
	}
}

// examine returns the program's findings about the deployment.
func (s *stack) examine(t *testing.T) []dynamo.Finding {
	t.Helper()
	return dynamo.Examine(t.Context(), dynamo.Examination{
		Options: dynamo.Options{Client: s.client, Registry: s.registry}, Prefixes: []string{s.options.Vars["prefix"].(string)},
	})
}

func (s *stack) fit(t *testing.T) {
	t.Helper()
	for _, f := range s.examine(t) {
		if f.State == dynamo.Wrong {
			t.Errorf("varve doctor: %s: %s", f.Check, f.Found)
		}
	}
}

// TestApply_MatchesPlan checks that the applied resources match the plan, and are as the program
// expects them.
func TestApply_MatchesPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	e := newEmulator(t)
	s := newStack(t, e, "applied", map[string]any{"deletion_protection": true, "template": map[string]any{"tags": map[string]any{"team": "devices"}}})
	s.mustPlan(t, noChanges, "after apply")
	s.fit(t)

	state, err := terraform.ShowContextE(t, t.Context(), s.options)
	if err != nil {
		t.Fatal(err)
	}
	p, err := appliedState(state)
	if err != nil {
		t.Fatal(err)
	}
	d := s.describe(t, s.registry)
	for _, wrong := range registryTable(t, p) {
		t.Errorf("the state: %s", wrong)
	}
	keys := map[string][]types.KeySchemaElement{"": d.KeySchema}
	for _, g := range d.GlobalSecondaryIndexes {
		keys[aws.ToString(g.IndexName)] = g.KeySchema
	}
	for _, ix := range dynamo.RegistryIndexes() {
		if k := keys[ix.Name]; len(k) != 2 || aws.ToString(k[0].AttributeName) != ix.PK || aws.ToString(k[1].AttributeName) != ix.SK {
			t.Errorf("the keys of %q are %v", ix.Name, k)
		}
	}
	if len(keys) != 3 || !aws.ToBool(d.DeletionProtectionEnabled) || !e.HasRecovery(s.registry) {
		t.Errorf("%d orders, deletion protection %v, recovery %t", len(keys), aws.ToBool(d.DeletionProtectionEnabled), e.HasRecovery(s.registry))
	}
	if tags := s.tags(t, s.registry); !maps.Equal(tags, map[string]string{dynamo.OwnerTag: s.registry}) {
		t.Errorf("the tags are %v", tags)
	}
	ttl, err := s.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(s.registry)})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != dynamo.RegistryTTL {
		t.Errorf("TTL is %+v, %v", ttl, err)
	}
	if got, err := templateOf(p); err != nil || got.Tags["team"] != "devices" {
		t.Errorf("the template is %+v, %v", got, err)
	}
}

// appliedState converts a Terraform state to a plan, so that the checks of plans can be used.
func appliedState(text string) (*planned, error) {
	var state struct {
		Values json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return nil, err
	}
	p, err := terraform.ParsePlanJSON(`{"format_version":"1.2","planned_values":` + string(state.Values) + `}`)
	return &planned{PlanStruct: p}, err
}

// TestDrift_IsCorrected checks that the next plan detects a manual change, and that the next apply
// corrects it.
func TestDrift_IsCorrected(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	e := newEmulator(t)
	s := newStack(t, e, "drift", map[string]any{"deletion_protection": true})
	table, arn := aws.String(s.registry), s.describe(t, s.registry).TableArn
	key := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: dynamo.TemplateKey().PK}, "sk": &types.AttributeValueMemberS{Value: dynamo.TemplateKey().SK},
	}
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"deletion protection is lifted", func(ctx context.Context) error {
			_, err := s.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, DeletionProtectionEnabled: aws.Bool(false)})
			return err
		}},
		{"TTL is turned off", func(ctx context.Context) error {
			_, err := s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: table,
				TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(dynamo.RegistryTTL), Enabled: aws.Bool(false)}})
			return err
		}},
		{"the owner's tag is taken off", func(ctx context.Context) error {
			_, err := s.client.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: []string{dynamo.OwnerTag}})
			return err
		}},
		{"recovery is turned off", func(ctx context.Context) error {
			_, err := s.client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: table,
				PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(false)}})
			return err
		}},
		{"the template is written over", func(ctx context.Context) error {
			item := maps.Clone(key)
			item[dynamo.TemplateAttr] = &types.AttributeValueMemberS{Value: `{"deletion_protection":false}`}
			_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: item})
			return err
		}},
		{"the template is deleted", func(ctx context.Context) error {
			_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.mustPlan(t, noChanges, "before")
			if err := c.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.mustPlan(t, changed, "after it")
			s.apply(t)
			s.mustPlan(t, noChanges, "after apply")
			s.fit(t)
		})
	}
}
