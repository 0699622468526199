package terraform_test

import (
	"fmt"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/terraform/emulator"
	"net/http/httptest"
	"testing"
)

func newEmulator(t *testing.T) *emulator.Emulator {
	t.Helper()
	e, err := emulator.New(dynamotest.Dynoxide.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type endpoint struct {
	*emulator.Endpoint
	url string
}

// newEndpoint serves an endpoint of an emulator. If policies are given, the endpoint refuses all
// calls that the policies do not allow, as AWS does.
func newEndpoint(t *testing.T, e *emulator.Emulator, policies ...policy) *endpoint {
	t.Helper()
	d := &endpoint{Endpoint: e.Endpoint(func(c emulator.Call) string {
		if len(policies) == 0 {
			return ""
		}
		return refusal(policies, c)
	})}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// refusal returns the reason if the policies do not allow a call, otherwise "".
func refusal(policies []policy, c emulator.Call) string {
	r := request{"dynamodb:" + c.Operation, "*", map[string][]string{"dynamodb:LeadingKeys": c.Keys}}
	if c.Table != "" {
		r.resource = tableARN(c.Table)
	}
	if c.Index != "" {
		r.resource += "/index/" + c.Index
	}
	if is, err := allowed(policies, r); err != nil || !is {
		return fmt.Sprintf("%s on %s %v %v", r.action, r.resource, r.context, err)
	}
	return ""
}
