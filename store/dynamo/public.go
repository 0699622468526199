package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/doctor"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/repair"
	"github.com/varvedb/varve/store/dynamo/template"
	"github.com/varvedb/varve/store/dynamo/verify"
)

type (
	// Use is the number of requests and units that one kind of work has used.
	Use = client.Use
	// Usage is the use of a store since it was opened, by reads and writes of readings and items.
	Usage = client.Usage

	// Template defines how tables are created and tuned.
	Template = template.Template
	// Settings are the settings of one table.
	Settings = template.Settings
	// Capacity is a number of read and write units per second.
	Capacity = template.Capacity

	// RegistryIndex is an index of the registry.
	RegistryIndex = items.Index

	// Finding is the result of one check of Examine.
	Finding = doctor.Finding
	// Forecaster is the type of Examination.Forecast.
	Forecaster = doctor.Forecaster
	// State classifies the result of a check.
	State = doctor.State

	// Verification is the input of Store.Verify.
	Verification = verify.Options
	// Verified is the result of Store.Verify.
	Verified = verify.Result

	// Repairing is the input of Store.PlanRepair.
	Repairing = repair.Options
	// RepairPlan is the result of Store.PlanRepair.
	RepairPlan = repair.Plan
	// RowRepair is a stream row that is missing or does not cover all layouts.
	RowRepair = repair.Row
)

// The values of State.
const (
	Good       = doctor.Good
	Warning    = doctor.Warning
	Wrong      = doctor.Wrong
	NotChecked = doctor.NotChecked
)

// Values of Settings.Billing and Settings.TableClass.
const (
	OnDemand         = template.OnDemand
	Provisioned      = template.Provisioned
	Standard         = template.Standard
	InfrequentAccess = template.InfrequentAccess
)

const (
	// OwnerTag is the tag on the tables of a deployment.
	OwnerTag = admin.OwnerTag
	// TemplateAttr is the attribute of the template's item with the JSON text of the template.
	TemplateAttr = template.Attr
	// RegistryTTL is the attribute with the expiry of an item in seconds since 1970.
	RegistryTTL = items.AttrTTL
)

// Examination is the input of Examine. It has the options of the store and facts about its
// tables.
type Examination struct {
	Options

	// Prefixes are the prefixes of the tables of all classes.
	Prefixes []string
	// Expired reports whether all readings that can be in a table have expired. If nil, no table
	// counts as expired.
	Expired func(grid.Table) bool
	// TableQuota is the quota of tables of the account and region. 0 means 2500.
	TableQuota int
	// Forecast describes the future number of tables. If nil, the future is not checked.
	Forecast Forecaster
}

// HTTPClient returns an HTTP client for many small, concurrent requests to one endpoint.
func HTTPClient() *awshttp.BuildableClient { return client.NewHTTP() }

// NewRetryer returns a retryer for many small requests.
func NewRetryer() aws.Retryer { return client.NewRetryer() }

// TemplateKey returns the key of the template's item in the registry.
func TemplateKey() store.Key { return template.Key() }

// ParseTemplate decodes and checks a template.
func ParseTemplate(text []byte) (Template, error) { return template.Parse(text) }

// RegistryIndexes returns the indexes of the registry. The primary index is the first.
func RegistryIndexes() []RegistryIndex { return items.Indexes() }
