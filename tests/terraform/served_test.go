package terraform_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/gruntwork-io/terratest/modules/terraform"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo"
)

const day = 24 * time.Hour

func ofMonth(names []string, at time.Time) (in []string) {
	for _, name := range names {
		if table, ok := grid.Parse(name); ok && table.Month == grid.MonthOf(at) {
			in = append(in, name)
		}
	}
	return in
}

// TestServe_FollowsTemplate follows the documentation: apply, doctor, serve. Tables must have the
// settings of the template, and changes by Varve must not cause drift. A changed template must
// affect only tables that are created later, without a restart.
func TestServe_FollowsTemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	s := newStack(t, newEmulator(t), "served", map[string]any{
		"template": map[string]any{
			"billing":             "provisioned",
			"capacity":            map[string]any{"hot": capacity(7, 9), "warm": capacity(3, 4), "cold": capacity(1, 2)},
			"deletion_protection": true, "point_in_time_recovery": true, "kms_key": kmsKey, "tags": map[string]any{"team": "devices"},
		},
	})
	dir := t.TempDir()
	s.configFile(t, dir)
	if out, err := run(t, dir, nil, varve(t), "doctor", "--config", "varve.json"); err != nil {
		t.Fatalf("varve doctor: %v\n%s", err, out)
	}
	server := serve(t, dir)
	now := time.Now()
	if status, answer := write(t, server.URL, "a", now); status != http.StatusOK || !strings.Contains(answer, `"stored":1`) {
		t.Fatalf("a write is answered with %d %s", status, answer)
	}
	if status, answer := query(t, server.URL, "a"); status != http.StatusOK || !strings.Contains(answer, `"temperature":22.50`) {
		t.Fatalf("a query is answered with %d %s", status, answer)
	}
	early := s.tables(t)
	if len(early) < 40 {
		t.Fatalf("%d tables were created", len(early))
	}
	before := map[string]string{}
	for _, name := range early {
		d := s.describe(t, name)
		p := d.ProvisionedThroughput
		units := [2]int64{aws.ToInt64(p.ReadCapacityUnits), aws.ToInt64(p.WriteCapacityUnits)}
		if units != [2]int64{7, 9} && units != [2]int64{3, 4} && units != [2]int64{1, 2} {
			t.Errorf("%s has %v units", name, units)
		}
		if !aws.ToBool(d.DeletionProtectionEnabled) || !s.emulator.HasRecovery(name) {
			t.Errorf("%s: deletion protection %v, recovery %t", name, aws.ToBool(d.DeletionProtectionEnabled), s.emulator.HasRecovery(name))
		}
		if d.SSEDescription == nil || aws.ToString(d.SSEDescription.KMSMasterKeyArn) != kmsKey {
			t.Errorf("%s is encrypted by %+v", name, d.SSEDescription)
		}
		if tags := s.tags(t, name); tags["team"] != "devices" || tags[dynamo.OwnerTag] != s.registry {
			t.Errorf("%s has the tags %v", name, tags)
		}
		before[name] = settingsOf(t, s, name)
	}
	s.mustPlan(t, noChanges, "after Varve has rotated and served")
	s.laterTablesOnly(t, dir, server.URL, before)
}

func capacity(read, write int) map[string]any {
	return map[string]any{"read": read, "write": write}
}

// settingsOf formats those settings of a table that the template determines and tuning does not
// change.
func settingsOf(t *testing.T, s *stack, name string) string {
	t.Helper()
	d := s.describe(t, name)
	kms := ""
	if d.SSEDescription != nil {
		kms = aws.ToString(d.SSEDescription.KMSMasterKeyArn)
	}
	return fmt.Sprint(aws.ToBool(d.DeletionProtectionEnabled), s.emulator.HasRecovery(name), kms, s.tags(t, name))
}

// laterTablesOnly changes the template while Varve runs. It checks that only tables that are
// created a month later have the new settings.
func (s *stack) laterTablesOnly(t *testing.T, dir, url string, before map[string]string) {
	t.Helper()
	s.options.Vars["template"] = map[string]any{"deletion_protection": false, "tags": map[string]any{"team": "others"}}
	s.mustPlan(t, changed, "with another template")
	s.apply(t)
	next := grid.MonthOf(time.Now()) + 1
	setClock(t, dir, time.Until(next.Start())+day)
	if status, answer := call(t, http.MethodPost, url+"/v1/tables/apply", ""); status != http.StatusOK {
		t.Fatalf("rotating is answered with %d %s", status, answer)
	}
	later := 0
	for _, name := range s.tables(t) {
		was, there := before[name]
		if there && settingsOf(t, s, name) != was {
			t.Errorf("%s was %s, now it is %s", name, was, settingsOf(t, s, name))
		}
		if there {
			continue
		}
		later++
		d := s.describe(t, name)
		if aws.ToBool(d.DeletionProtectionEnabled) || s.emulator.HasRecovery(name) || s.tags(t, name)["team"] != "others" ||
			d.BillingModeSummary == nil || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("the later table %s is %s", name, settingsOf(t, s, name))
		}
	}
	if later < 20 {
		t.Errorf("only %d tables were created later", later)
	}
	s.mustPlan(t, noChanges, "after the next month's tables were made")
}

// TestDestroy_RespectsProtection checks that Terraform cannot destroy a protected registry. It must
// be able to destroy an unprotected one, and the tables of readings must remain.
func TestDestroy_RespectsProtection(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	s := newStack(t, newEmulator(t), "destroyed", map[string]any{"deletion_protection": true})
	dir := t.TempDir()
	s.configFile(t, dir)
	server := serve(t, dir)
	if status, answer := write(t, server.URL, "a", time.Now()); status != http.StatusOK {
		t.Fatalf("a write is answered with %d %s", status, answer)
	}
	tables := s.tables(t)
	if _, err := terraform.DestroyContextE(t, t.Context(), s.options); err == nil || !strings.Contains(err.Error(), "eletion protection") {
		t.Fatalf("destroying a protected registry: %v", err)
	}
	s.describe(t, s.registry)
	s.apply(t) // recreates the resources that the failed destroy has deleted
	s.options.Vars["deletion_protection"] = false
	s.apply(t)
	if _, err := terraform.DestroyContextE(t, t.Context(), s.options); err != nil {
		t.Fatal(err)
	}
	if wrong := s.examine(t); len(wrong) != 1 || wrong[0].State != dynamo.Wrong {
		t.Errorf("the registry still exists: %v", wrong)
	}
	if left := s.tables(t); !slices.Equal(left, tables) || len(left) < 40 {
		t.Errorf("of %d time tables, %d are left", len(tables), len(left))
	}
}

// TestDeployments_AreIndependent checks that two deployments in one account do not affect each other.
func TestDeployments_AreIndependent(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	e := newEmulator(t)
	one := newStack(t, e, "one", nil)
	two := newStack(t, e, "one-two", nil) // the same prefix as for a class named two in the first deployment
	var urls []string
	for _, s := range []*stack{one, two} {
		dir := t.TempDir()
		s.configFile(t, dir)
		urls = append(urls, serve(t, dir).URL)
	}
	if status, answer := write(t, urls[0], "a", time.Now()); status != http.StatusOK {
		t.Fatalf("a write is answered with %d %s", status, answer)
	}
	if status, answer := query(t, urls[1], "a"); status != http.StatusNotFound || strings.Contains(answer, "22.50") {
		t.Errorf("the other deployment answers %d %s", status, answer)
	}
	one.mustPlan(t, noChanges, "after both have served")
	two.mustPlan(t, noChanges, "after both have served")
	if _, err := terraform.DestroyContextE(t, t.Context(), two.options); err != nil {
		t.Fatal(err)
	}
	one.mustPlan(t, noChanges, "after the other was destroyed")
	one.fit(t)
	if status, answer := query(t, urls[0], "a"); status != http.StatusOK || !strings.Contains(answer, "22.50") {
		t.Errorf("a query is answered with %d %s", status, answer)
	}
}
