package doctor

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
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/template"
)

// maxSkew is the largest accepted difference between this machine's clock and DynamoDB's.
// DynamoDB refuses requests if the difference exceeds five minutes. Even a smaller difference
// makes arrivals and expiry wrong.
const maxSkew = 30 * time.Second

const applyAgain = "run terraform apply; or delete the registry if it is empty, and varve serve creates it"

// checkMissing reports a missing registry. The finding is Wrong only if the deployment already has
// tables.
func (e *examiner) checkMissing(ctx context.Context, name string) {
	const check = "check store.registry, tables.prefix, the account and the region"
	_, own, err := e.countTables(ctx)
	switch {
	case err != nil:
		e.failed(aboutTables, "ListTables", "*", err)
	case own > 0:
		e.wrong(aboutRegistry, "restore it from a backup, or "+check,
			"table %s is missing, but the deployment has %d tables: keys, rules, devices and roll-ups are in the registry", name, own)
	default:
		e.findings = append(e.findings, Finding{
			Check: aboutRegistry, State: NotChecked, Found: "table " + name + " is not created yet: varve serve or terraform apply creates it",
			Remedy: "if it was created before, " + check,
		})
		e.checkTables(ctx)
	}
}

// checkRegistry checks that the table of the registry can be read. It also checks the keys of the
// table, and compares the clock with the time in DynamoDB's answer. It returns false if the
// registry cannot be read.
func (e *examiner) checkRegistry(ctx context.Context) bool {
	name := e.Client.Registry()
	out, err := e.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		e.checkMissing(ctx, name)
		return false
	case err != nil:
		e.failed(aboutRegistry, "DescribeTable", name, err)
		return false
	}
	if e.registry = out.Table; e.registry.TableStatus == types.TableStatusActive || e.registry.TableStatus == types.TableStatusUpdating {
		e.good(aboutRegistry, "table %s is %s", name, e.registry.TableStatus)
	} else {
		e.wrong(aboutRegistry, "wait until it is ACTIVE", "table %s is %s", name, e.registry.TableStatus)
	}
	e.checkKeys()
	if at, ok := middleware.GetServerTime(out.ResultMetadata); ok {
		e.checkClock(at)
	} else {
		e.notChecked(aboutClock, "this endpoint does not send its time")
	}
	return true
}

// checkClock compares the clock with the time of an answer, which is in whole seconds.
func (e *examiner) checkClock(theirs time.Time) {
	skew := e.Now().Sub(theirs).Round(10 * time.Second)
	if skew.Abs() > maxSkew {
		e.wrong(aboutClock, "set the clock: use NTP", "this machine's clock is %s from DynamoDB's", skew)
		return
	}
	e.good(aboutClock, "within %s of DynamoDB's", maxSkew)
}

// checkKeys compares the keys and the indexes of the registry with the required ones.
func (e *examiner) checkKeys() {
	var mistakes []string
	have := map[string][]types.KeySchemaElement{"": e.registry.KeySchema}
	for _, g := range e.registry.GlobalSecondaryIndexes {
		have[aws.ToString(g.IndexName)] = g.KeySchema
		if g.Projection == nil || g.Projection.ProjectionType != types.ProjectionTypeAll {
			mistakes = append(mistakes, fmt.Sprintf("index %s does not hold whole items", aws.ToString(g.IndexName)))
		}
	}
	for _, want := range items.Indexes() {
		subject := "the table"
		if want.Name != "" {
			subject = "index " + want.Name
		}
		if got := keyText(have[want.Name]); got != "HASH "+want.PK+", RANGE "+want.SK {
			mistakes = append(mistakes, fmt.Sprintf("%s has the keys [%s], and needs HASH %s, RANGE %s", subject, got, want.PK, want.SK))
		}
	}
	for _, a := range e.registry.AttributeDefinitions {
		if a.AttributeType != types.ScalarAttributeTypeS {
			mistakes = append(mistakes, fmt.Sprintf("key %s is of type %s, not S", aws.ToString(a.AttributeName), a.AttributeType))
		}
	}
	if len(mistakes) > 0 {
		e.wrong(aboutKeys, applyAgain, "%s", strings.Join(mistakes, "; "))
		return
	}
	e.good(aboutKeys, "as required")
}

func keyText(keys []types.KeySchemaElement) string {
	var parts []string
	for _, k := range keys {
		parts = append(parts, string(k.KeyType)+" "+aws.ToString(k.AttributeName))
	}
	return strings.Join(parts, ", ")
}

func (e *examiner) checkTTL(ctx context.Context) {
	out, err := e.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: e.registry.TableName})
	if err != nil {
		e.failed(aboutTTL, "DescribeTimeToLive", e.Client.Registry(), err)
		return
	}
	d := out.TimeToLiveDescription
	switch {
	case !admin.IsTTLOn(d):
		e.wrong(aboutTTL, applyAgain, "it is off: expired items stay for ever")
	case aws.ToString(d.AttributeName) != items.AttrTTL:
		e.wrong(aboutTTL, applyAgain, "it uses attribute %s, not %s", aws.ToString(d.AttributeName), items.AttrTTL)
	default:
		e.good(aboutTTL, "by %s", items.AttrTTL)
	}
}

func (e *examiner) checkOwner(ctx context.Context) {
	owner, tags, err := e.Admin.OwnerOf(ctx, e.registry)
	switch {
	case err != nil:
		e.failed(aboutOwner, "ListTagsOfResource", e.Client.Registry(), err)
	case !tags:
		e.notChecked(aboutOwner, "this endpoint has no tags")
	case owner == "":
		e.wrong(aboutOwner, "add the tag: terraform apply does so", "it has no tag %s: another deployment may use it too", admin.OwnerTag)
	case owner != e.Admin.Owner():
		e.wrong(aboutOwner, "set store.registry to a registry of this deployment", "its tag %s is %q, and this deployment is %q", admin.OwnerTag, owner, e.Admin.Owner())
	default:
		e.good(aboutOwner, "tag %s is %q", admin.OwnerTag, owner)
	}
}

func (e *examiner) checkTemplate(ctx context.Context) {
	it, err := e.Items.GetOne(ctx, template.Key())
	if err != nil {
		e.wrong(aboutTemplate, "allow dynamodb:BatchGetItem on the registry", "it cannot be read: %s", brief(err))
		return
	}
	if it == nil {
		e.good(aboutTemplate, "none: tables are created on demand, with deletion protection")
		return
	}
	t, err := template.Parse([]byte(it.Attrs[template.Attr].Text()))
	if err != nil {
		e.wrong(aboutTemplate, "run terraform apply; or correct the attribute "+template.Attr+" of the registry's item TEMPLATE TABLES", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	billing := template.OnDemand
	if t.Billing != "" {
		billing = t.Billing
	}
	e.good(aboutTemplate, "billing %s, %d classes with settings of their own", billing, len(t.Classes))
}

const maxNamed = 10

// checkLosses checks that no table was deleted before its readings expired.
func (e *examiner) checkLosses(ctx context.Context) {
	all, err := e.Tables.Catalog.All(ctx, e.Prefixes...)
	if err != nil {
		e.notChecked(aboutLoss, "tables cannot be listed: %s", brief(err))
		return
	}
	var lost []string
	for i := range all {
		if in := &all[i].Info; !in.Lost.IsZero() && (e.Expired == nil || !e.Expired(in.Table)) {
			lost = append(lost, in.Name())
		}
	}
	if len(lost) == 0 {
		e.good(aboutLoss, "none")
		return
	}
	more := ""
	if len(lost) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(lost)-maxNamed)
		lost = slices.Clip(lost[:maxNamed])
	}
	e.wrong(aboutLoss, "restore them from a backup under their names; or accept the loss with varve repair --accept-loss --apply",
		"deleted, with readings that had not expired: %s%s", strings.Join(lost, ", "), more)
}
