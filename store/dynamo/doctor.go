package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// Finding is what one check has found.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Found string `json:"found"`
	// Remedy says what to do, if something is wrong.
	Remedy string `json:"remedy,omitempty"`
}

// State is how a check ended.
type State string

// States of findings.
const (
	Good       State = "good"
	Wrong      State = "wrong"
	NotChecked State = "not checked" // it cannot be, here
)

// Examination is what [Examine] looks at, besides the options of the store.
type Examination struct {
	Options
	// Prefixes are those of the time tables, of all classes.
	Prefixes []string
	// Expired reports whether all that a table can have held has expired; nil:
	// nothing expires.
	Expired func(grid.Table) bool
}

// maxSkew is how far the clock may be from DynamoDB's. Requests are refused from
// five minutes on; arrivals and expiry are off from the first second.
const maxSkew = 30 * time.Second

// Examine checks whether a deployment can work: its registry, the table
// template, permissions, the clock, and quotas. It changes nothing, makes no
// table, and needs none.
func Examine(ctx context.Context, x Examination) []Finding {
	if x.Now == nil {
		x.Now = time.Now
	}
	if x.Owner == "" {
		x.Owner = x.Registry
	}
	e := &examiner{Store: &Store{opts: x.Options, client: retryCut(x.Client)}, prefixes: x.Prefixes, expired: x.Expired}
	if !e.registry(ctx) {
		return e.findings // nothing else would say more than that
	}
	e.timeToLive(ctx)
	e.owner(ctx)
	e.tableTemplate(ctx)
	e.lostTables(ctx)
	e.permissions(ctx)
	e.quotas(ctx)
	return e.findings
}

type examiner struct {
	*Store
	prefixes []string
	expired  func(grid.Table) bool
	table    *types.TableDescription // of the registry
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

// failed notes that a check could not be made: because this endpoint does not
// know the request, or because something is wrong.
func (e *examiner) failed(check, action, table string, err error) {
	if unknown(err) {
		e.notChecked(check, "this endpoint does not know %s", action)
		return
	}
	remedy := "see that the region, the endpoint and the network are right"
	if failed := (*varve.Error)(nil); errors.As(e.fail(action, table, err), &failed) {
		remedy = failed.Message
	}
	e.wrong(check, remedy, "%s failed: %s", action, brief(err))
}

// unknown reports whether an endpoint says that it does not know a request.
func unknown(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains([]string{"UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented"}, api.ErrorCode())
}

// brief is an error for people: what the endpoint said, or why it said nothing.
func brief(err error) string {
	if api := smithy.APIError(nil); errors.As(err, &api) {
		return strings.TrimSpace(api.ErrorCode() + " " + api.ErrorMessage())
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err.Error()
}

const (
	aboutRegistry = "registry"
	aboutKeys     = "registry keys and indexes"
	aboutTTL      = "registry TTL"
	aboutOwner    = "registry owner"
	aboutTemplate = "table template"
	aboutClock    = "clock"
	aboutTables   = "number of tables"
	aboutUnits    = "capacity"
)

const applyAgain = "terraform apply makes it so; or delete the registry if nothing is kept yet, and varve serve makes it"

// registry checks the registry's table, and the clock by its answer.
func (e *examiner) registry(ctx context.Context) bool {
	name := e.opts.Registry
	out, err := e.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		e.wrong(aboutRegistry, "terraform apply makes it, or the first varve serve; else look at store.registry, tables.prefix and the region", "there is no table %s", name)
		return false
	case err != nil:
		e.failed(aboutRegistry, "DescribeTable", name, err)
		return false
	}
	if e.table = out.Table; e.table.TableStatus == types.TableStatusActive || e.table.TableStatus == types.TableStatusUpdating {
		e.good(aboutRegistry, "table %s is %s", name, e.table.TableStatus)
	} else {
		e.wrong(aboutRegistry, "wait until it is ACTIVE", "table %s is %s", name, e.table.TableStatus)
	}
	e.keys()
	if at, ok := middleware.GetServerTime(out.ResultMetadata); ok {
		e.clock(at)
	} else {
		e.notChecked(aboutClock, "this endpoint does not say what time it is")
	}
	return true
}

func (e *examiner) clock(theirs time.Time) {
	// Their time has whole seconds.
	skew := e.opts.Now().Sub(theirs).Round(10 * time.Second)
	if skew.Abs() > maxSkew {
		e.wrong(aboutClock, "set the clock: use NTP", "this machine's clock is %s from DynamoDB's", skew)
		return
	}
	e.good(aboutClock, "within %s of DynamoDB's", maxSkew)
}

// keys compares the registry's keys and indexes with those that there should be.
func (e *examiner) keys() {
	var mistakes []string
	have := map[string][]types.KeySchemaElement{"": e.table.KeySchema}
	for _, g := range e.table.GlobalSecondaryIndexes {
		have[aws.ToString(g.IndexName)] = g.KeySchema
		if g.Projection == nil || g.Projection.ProjectionType != types.ProjectionTypeAll {
			mistakes = append(mistakes, fmt.Sprintf("index %s does not hold whole items", aws.ToString(g.IndexName)))
		}
	}
	for _, want := range RegistryIndexes() {
		what := "the table"
		if want.Name != "" {
			what = "index " + want.Name
		}
		if got := keyText(have[want.Name]); got != "HASH "+want.PK+", RANGE "+want.SK {
			mistakes = append(mistakes, fmt.Sprintf("%s has the keys [%s], and needs HASH %s, RANGE %s", what, got, want.PK, want.SK))
		}
	}
	for _, a := range e.table.AttributeDefinitions {
		if a.AttributeType != types.ScalarAttributeTypeS {
			mistakes = append(mistakes, fmt.Sprintf("key %s is of type %s, not S", aws.ToString(a.AttributeName), a.AttributeType))
		}
	}
	if len(mistakes) > 0 {
		e.wrong(aboutKeys, applyAgain, "%s", strings.Join(mistakes, "; "))
		return
	}
	e.good(aboutKeys, "as they should be")
}

func keyText(keys []types.KeySchemaElement) string {
	var parts []string
	for _, k := range keys {
		parts = append(parts, string(k.KeyType)+" "+aws.ToString(k.AttributeName))
	}
	return strings.Join(parts, ", ")
}

func (e *examiner) timeToLive(ctx context.Context) {
	out, err := e.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(e.opts.Registry)})
	if err != nil {
		e.failed(aboutTTL, "DescribeTimeToLive", e.opts.Registry, err)
		return
	}
	d := out.TimeToLiveDescription
	on := d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
	switch {
	case !on:
		e.wrong(aboutTTL, applyAgain, "it is off: what has expired stays for ever")
	case aws.ToString(d.AttributeName) != RegistryTTL:
		e.wrong(aboutTTL, applyAgain, "it goes by %s, not by %s", aws.ToString(d.AttributeName), RegistryTTL)
	default:
		e.good(aboutTTL, "by %s", RegistryTTL)
	}
}

func (e *examiner) owner(ctx context.Context) {
	owner, tags, err := e.ownerOf(ctx, e.opts.Registry, aws.ToString(e.table.TableArn))
	switch {
	case err != nil:
		e.failed(aboutOwner, "ListTagsOfResource", e.opts.Registry, err)
	case !tags:
		e.notChecked(aboutOwner, "tables have no tags here")
	case owner == "":
		e.wrong(aboutOwner, "give the registry that tag: terraform apply does so", "it has no tag %s: another deployment may take it for its own", OwnerTag)
	case owner != e.opts.Owner:
		e.wrong(aboutOwner, "set store.registry to a registry of this deployment's own", "its tag %s is %q, and this deployment is %q", OwnerTag, owner, e.opts.Owner)
	default:
		e.good(aboutOwner, "tag %s is %q", OwnerTag, owner)
	}
}

func (e *examiner) tableTemplate(ctx context.Context) {
	items, err := e.getSome(ctx, []store.Key{TemplateKey()}, true, nil)
	if err != nil {
		e.wrong(aboutTemplate, "see that the credentials allow dynamodb:BatchGetItem on the registry", "it cannot be read: %s", brief(err))
		return
	}
	if len(items) == 0 {
		e.good(aboutTemplate, "there is none: tables are made on demand, with deletion protection")
		return
	}
	t, err := ParseTemplate([]byte(items[0].Attrs[TemplateAttr].Text()))
	if err != nil {
		e.wrong(aboutTemplate, "terraform apply writes it anew; or mend the attribute "+TemplateAttr+" of the registry's item TEMPLATE TABLES", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	billing := OnDemand
	if t.Billing != "" {
		billing = t.Billing
	}
	e.good(aboutTemplate, "billing %s, %d classes with settings of their own", billing, len(t.Classes))
}
