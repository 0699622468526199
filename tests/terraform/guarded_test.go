package terraform_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/grid"
)

// TestPolicies_Suffice runs the program under the planned policies, as on AWS. With all three
// policies, every part of the program must work. With one policy, the part of that policy must
// work.
func TestPolicies_Suffice(t *testing.T) {
	if testing.Short() {
		t.Skip("applies to an emulator")
	}
	t.Parallel()
	e := newEmulator(t)
	s := newStack(t, e, "guarded", map[string]any{"template": map[string]any{"point_in_time_recovery": true}})
	o := options(t, copied(t), empty(t), map[string]any{"prefix": "guarded"})
	initialize(t, o)
	parts, wrong := policiesOf(planOf(t, o))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	router, rotator, reader := parts["router"], parts["rotator"], parts["reader"]
	url := routerAlone(t, s, newEndpoint(t, e, router))

	// With all three policies, the endpoint must refuse nothing, from the creation of the first table
	// until the rotator has dropped expired tables.
	whole := newEndpoint(t, e, router, rotator, reader)
	dir := t.TempDir()
	s.configFile(t, dir)
	if out, err := run(t, dir, nil, varve(t), "doctor", "--config", "varve.json", "--set", "store.endpoint="+whole.url); err != nil {
		t.Errorf("varve doctor: %v\n%s", err, out)
	}
	server := serve(t, dir, "--set", "store.endpoint="+whole.url, "--set", "retention.drop=true", "--set", "retention.grace=1d")
	if status, answer := write(t, server.URL, "b", time.Now()); status != http.StatusOK {
		t.Errorf("a write is answered with %d %s", status, answer)
	}
	if status, answer := query(t, server.URL, "b"); status != http.StatusOK || !strings.Contains(answer, "22.50") {
		t.Errorf("a query is answered with %d %s", status, answer)
	}

	// After the rotator has created the tables, the router must be able to write. The reader must be able
	// to read the reading, and not to write.
	if status, answer := write(t, url, "a", time.Now()); status != http.StatusOK {
		t.Errorf("with its table, a write is answered with %d %s", status, answer)
	}
	reading := readerAlone(t, s, newEndpoint(t, e, reader))
	readerVerifies(t, s, newEndpoint(t, e, reader))
	repairs(t, s, newEndpoint(t, e, reader), newEndpoint(t, e, router, reader))
	for _, alone := range []string{url, reading} {
		if status, answer := call(t, http.MethodGet, alone+"/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("a process without the right to rotate is ready: %d %s", status, answer)
		}
	}

	ageOut(t, s, dir, server.URL)
	if refused := whole.Refused(); len(refused) > 0 {
		t.Errorf("with all three policies, this was refused: %s", strings.Join(refused, "\n"))
	}
	for _, op := range []string{"CreateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "UpdateTable", "DeleteTable", "UpdateItem"} {
		if !whole.Called(op) {
			t.Errorf("%s was never called: this test does not show that it is allowed", op)
		}
	}
	keysAreMade(t, s, newEndpoint(t, e, router), newEndpoint(t, e, rotator))
	s.mustPlan(t, noChanges, "after all of it")
}

// routerAlone checks that a router without a rotator rejects readings whose table is missing, and
// creates no table. It returns the address of the router.
func routerAlone(t *testing.T, s *stack, through *endpoint) (url string) {
	t.Helper()
	dir := t.TempDir()
	s.configFile(t, dir)
	url = unready(t, dir, "--set", "store.endpoint="+through.url)
	if status, answer := write(t, url, "a", time.Now()); status != http.StatusServiceUnavailable || !strings.Contains(answer, `"code":"unavailable"`) {
		t.Fatalf("without a table, a write is answered with %d %s", status, answer)
	}
	if left := s.tables(t); len(left) > 0 {
		t.Fatalf("the router created %v", left)
	}
	return url
}

// readerAlone checks that a server with the policy of the reader can read and cannot write. It
// returns the address of the server.
func readerAlone(t *testing.T, s *stack, through *endpoint) (url string) {
	t.Helper()
	dir := t.TempDir()
	s.configFile(t, dir)
	url = unready(t, dir, "--set", "store.endpoint="+through.url)
	if status, answer := query(t, url, "a"); status != http.StatusOK || !strings.Contains(answer, "22.50") {
		t.Errorf("the reader is answered with %d %s", status, answer)
	}
	if status, answer := write(t, url, "c", time.Now()); status != http.StatusServiceUnavailable {
		t.Errorf("the reader writes: %d %s", status, answer)
	}
	return url
}

// readerVerifies checks that the reader's policy is sufficient for verifications and for repair
// plans.
func readerVerifies(t *testing.T, s *stack, through *endpoint) {
	t.Helper()
	dir := t.TempDir()
	s.configFile(t, dir)
	for _, args := range [][]string{{"verify"}, {"repair"}, {"repair", "--scan"}} {
		args = append(args, "--config", "varve.json", "--set", "store.endpoint="+through.url)
		if out, err := run(t, dir, nil, varve(t), args...); err != nil {
			t.Errorf("varve %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if refused := through.Refused(); len(refused) > 0 {
		t.Errorf("to the reader, this was refused: %s", strings.Join(refused, "\n"))
	}
	if !through.Called("Scan") {
		t.Error("Scan was never called: this test does not show that it is allowed")
	}
}

// repairs checks that a lost stream can be repaired with the policies of router and reader together.
// The policy of the reader alone must not suffice.
func repairs(t *testing.T, s *stack, reader, both *endpoint) {
	t.Helper()
	_, err := s.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &s.registry, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "TENANT#default"}, "sk": &types.AttributeValueMemberS{Value: "STREAM#weather"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.configFile(t, dir)
	repair := func(d *endpoint) (string, error) {
		return run(t, dir, nil, varve(t), "repair", "--scan", "--apply", "--config", "varve.json", "--set", "store.endpoint="+d.url)
	}
	if out, err := repair(reader); err == nil || len(reader.Refused()) == 0 {
		t.Errorf("the reader repaired the registry: %s", out)
	}
	if out, err := repair(both); err != nil || !strings.Contains(out, "default/weather") {
		t.Errorf("varve repair: %v\n%s", err, out)
	}
	if refused := both.Refused(); len(refused) > 0 {
		t.Errorf("to the router and the reader together, this was refused: %s", strings.Join(refused, "\n"))
	}
	if out, err := repair(both); err != nil || !strings.Contains(out, "Nothing to repair") {
		t.Errorf("second varve repair: %v\n%s", err, out)
	}
}

// keysAreMade checks that the rotator's policy allows the creation of API keys, and that the
// router's policy does not.
func keysAreMade(t *testing.T, s *stack, router, rotator *endpoint) {
	t.Helper()
	dir := t.TempDir()
	s.configFile(t, dir)
	create := func(d *endpoint) (string, error) {
		return run(t, dir, nil, varve(t), "keys", "create", "--config", "varve.json", "--set", "store.endpoint="+d.url, "--scope", "admin", "--name", "ops")
	}
	if out, err := create(router); err == nil || len(router.Refused()) == 0 {
		t.Errorf("the router created a key: %s", out)
	}
	if _, err := create(rotator); err != nil {
		t.Error(err)
	}
}

// ageOut advances the clock until the first tables are tuned, retired and dropped.
func ageOut(t *testing.T, s *stack, dir, url string) {
	t.Helper()
	first := ofMonth(s.tables(t), time.Now())
	month := grid.MonthOf(time.Now())
	for _, at := range []time.Time{(month + 1).Start().Add(day), (month + 2).Start().Add(35 * day), (month + 2).Start().Add(40 * day)} {
		setClock(t, dir, time.Until(at))
		if status, answer := call(t, http.MethodPost, url+"/v1/tables/apply", ""); status != http.StatusOK {
			t.Fatalf("rotating at %s is answered with %d %s", at, status, answer)
		}
	}
	if left := ofMonth(s.tables(t), time.Now()); len(first) == 0 || len(left) >= len(first) {
		t.Errorf("of the %d tables of the first month, %d are left", len(first), len(left))
	}
	if err := os.Remove(filepath.Join(dir, clockFile)); err != nil {
		t.Error(err)
	}
}
