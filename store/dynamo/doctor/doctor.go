// Package doctor checks whether a deployment on DynamoDB can work.
//
//	registry   exists, has its keys, indexes, TTL and owner
//	template   is valid
//	tables     no table was deleted before its readings expired
//	account    permissions, quotas, clock
//
// [Examine] runs all checks and returns the findings. Each [Finding] has a [State], and a remedy if the
// state is Wrong. Examine changes nothing.
//
// If a check fails, the others still run, unless the registry cannot be read. Before the first
// start, the registry is missing, and only the present and future numbers of tables are checked.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Found string `json:"found"`
	// Remedy is the action by which an operator can correct a Wrong state. In other states, it is
	// advice.
	Remedy string `json:"remedy,omitempty"`
}

// State classifies the result of a check.
type State string

// The states of a finding. An operator must act on Wrong, and should act on Warning.
const (
	Good       State = "good"
	Warning    State = "warning" // works now, and will fail at a known time
	Wrong      State = "wrong"
	NotChecked State = "not checked" // the check was not possible, for example because the endpoint does not support it
)

// Options are the parts of a store that the checks use, and facts about its tables.
type Options struct {
	Client *client.Client
	Admin  *admin.Admin
	Items  *items.Items
	Tables *tables.Tables
	Now    func() time.Time
	// Prefixes are the prefixes of the tables of all classes.
	Prefixes []string
	// Expired reports whether all readings that can be in a table have expired. If nil, no table
	// counts as expired.
	Expired func(grid.Table) bool
	// TableQuota is the quota of tables of the account and region. 0 means 2500.
	TableQuota int
	// Forecast describes the future number of tables. Its arguments are the tables of this
	// deployment and the number of other tables. It returns a remedy if the account will reach its quota of
	// tables, and reports whether this finding is only a warning. If nil, the future is not checked.
	Forecast Forecaster
}

// Forecaster is the type of Options.Forecast.
type Forecaster func(ctx context.Context, tables []store.Info, others int) (found, remedy string, warning bool, err error)

// Names of the checks in findings.
const (
	aboutRegistry = "registry"
	aboutKeys     = "registry keys and indexes"
	aboutTTL      = "registry TTL"
	aboutOwner    = "registry owner"
	aboutTemplate = "table template"
	aboutClock    = "clock"
	aboutLoss     = "deleted tables"
	aboutTables   = "number of tables"
	aboutFuture   = "future tables"
	aboutUnits    = "capacity"
)

// Examine runs all checks and returns their findings.
func Examine(ctx context.Context, o Options) []Finding {
	if o.TableQuota == 0 {
		o.TableQuota = defaultQuota
	}
	e := &examiner{Options: o}
	if !e.checkRegistry(ctx) {
		return e.findings // the other checks need the registry
	}
	e.checkTTL(ctx)
	e.checkOwner(ctx)
	e.checkTemplate(ctx)
	e.checkLosses(ctx)
	e.checkPermissions(ctx)
	e.checkTables(ctx)
	e.checkUnits(ctx)
	return e.findings
}

type examiner struct {
	Options

	registry *types.TableDescription
	findings []Finding
}

func (e *examiner) good(check, format string, args ...any) {
	e.findings = append(e.findings, Finding{Check: check, State: Good, Found: fmt.Sprintf(format, args...)})
}

func (e *examiner) wrong(check, remedy, format string, args ...any) {
	e.findings = append(e.findings, Finding{check, Wrong, fmt.Sprintf(format, args...), remedy})
}

func (e *examiner) notChecked(check, format string, args ...any) {
	e.findings = append(e.findings, Finding{Check: check, State: NotChecked, Found: fmt.Sprintf(format, args...)})
}

// failed adds the finding of a check whose request failed. If the endpoint does not support the
// request, the state is NotChecked.
func (e *examiner) failed(check, action, table string, err error) {
	if isUnknown(err) {
		e.notChecked(check, "this endpoint does not know %s", action)
		return
	}
	remedy := "check the region, the endpoint and the network"
	if failed := (*varve.Error)(nil); errors.As(e.Client.Error(action, table, err), &failed) {
		remedy = failed.Message
	}
	e.wrong(check, remedy, "%s failed: %s", action, brief(err))
}

// isUnknown reports whether err means that the endpoint does not support a request.
func isUnknown(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains([]string{"UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented"}, api.ErrorCode())
}

// brief returns a short text of an error. If the endpoint answered, the text is the error code and
// message of the answer. Otherwise, it is the innermost error.
func brief(err error) string {
	if api := smithy.APIError(nil); errors.As(err, &api) {
		return strings.TrimSpace(api.ErrorCode() + " " + api.ErrorMessage())
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err.Error()
}
