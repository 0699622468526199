package terraform_test

import (
	"fmt"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo"
	"slices"
	"strings"
	"testing"
	"time"
)

// kmsKey is the ARN of the KMS key in the plan of the complete example.
const kmsKey = "arn:aws:kms:" + region + ":" + account + ":key/11111111-2222-3333-4444-555555555555"

// broad lists the actions that IAM allows only for the resource *.
var broad = []string{"dynamodb:ListTables", "dynamodb:DescribeLimits", "ecr:GetAuthorizationToken"}

// narrow checks that no policy uses a pattern as an action. No policy may allow an action on all
// tables. No policy may allow an action on all resources, unless IAM requires that.
func narrow(_ *testing.T, p *planned) (wrong []string) {
	seen := 0
	for _, kind := range []string{"aws_iam_policy", "aws_iam_role_policy"} {
		for _, r := range p.resources(kind) {
			text, _ := r.AttributeValues["policy"].(string)
			parsed, err := parsePolicy(text)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s is not known when it is planned: %v", r.Address, err))
			}
			for _, s := range parsed.Statement {
				seen++
				wrong = append(wrong, s.tooBroad(r.Address)...)
			}
		}
	}
	if seen == 0 {
		wrong = append(wrong, "no policy was looked at")
	}
	return wrong
}

func (s *statement) tooBroad(at string) (wrong []string) {
	for _, a := range s.Action {
		if strings.ContainsAny(a, "*?") {
			wrong = append(wrong, fmt.Sprintf("%s %s: the action %s is a pattern", at, s.Sid, a))
		}
		if s.Effect == "Allow" && slices.Contains(s.Resource, "*") && !slices.Contains(broad, a) {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s is allowed on everything", at, s.Sid, a))
		}
	}
	for _, r := range s.Resource {
		if strings.HasSuffix(r, "table/*") || strings.HasSuffix(r, "repository/*") || strings.HasPrefix(r, "arn:*") {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s is everything of its kind", at, s.Sid, r))
		}
	}
	return wrong
}

// permission is a row of the matrix of permissions.
type permission struct {
	why       string
	actions   string
	resources []string
	context   map[string][]string
	may       string // the only parts of Varve to which the policies must allow the actions
	never     bool   // whether each policy must deny the actions even beside a policy that allows everything
}

func on(names ...string) (arns []string) {
	for _, n := range names {
		arns = append(arns, tableARN(n))
	}
	return arns
}

// matrix returns the expected permissions in a deployment with the classes default and audit.
func matrix() []permission {
	month := grid.MonthOf(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	var own []string
	for _, prefix := range []string{"varve", "varve-audit"} {
		own = append(own, on(grid.Table{Prefix: prefix, Range: grid.DefaultPolicy().Ranges(month)[0], Month: month}.Name())...)
	}
	theirs := on("other_1794787200_1795392000_11_2026", "varve2_1794787200_1795392000_11_2026", "varve-other_1794787200_1795392000_11_2026",
		"varve", "varve_orders", "orders", "varve_1794787200_1795392000_11_20267")
	far := []string{
		strings.Replace(own[0], account, "999999999999", 1), strings.Replace(own[0], region, "us-east-1", 1),
		strings.Replace(own[0], "arn:aws:", "arn:aws-cn:", 1),
	}
	registry := on("varve_registry")
	const make, write, read = "CreateTable DeleteTable UpdateTable TagResource UntagResource UpdateTimeToLive UpdateContinuousBackups", "PutItem UpdateItem", "Query"
	const all = make + " " + write + " " + read + " DeleteItem GetItem BatchGetItem BatchWriteItem Scan"
	item := func(pk string) map[string][]string { return map[string][]string{"dynamodb:LeadingKeys": {pk}} }
	return []permission{
		{"its own tables are the rotator's", make + " DescribeTimeToLive ListTagsOfResource", own, nil, "rotator", false},
		{"readings are written by the router", write, own, nil, "router", false},
		{"readings are read by the reader, also whole tables", read + " Scan", own, nil, "reader", false},
		{"all look whether a table is there", "DescribeTable", own, nil, "router rotator reader", false},
		{"nobody goes around Varve's rows", "DeleteItem BatchWriteItem PartiQLInsert PartiQLDelete PartiQLUpdate PartiQLSelect", own, nil, "", false},
		{"tables are not copied away or shared", "CreateBackup ExportTableToPointInTime PutResourcePolicy CreateGlobalTable RestoreTableToPointInTime", own, nil, "", false},
		{"tables with other names are refused", all, theirs, nil, "", false},
		{"tables of another account, region or partition are refused", all, far, nil, "", false},
		{"the registry's table is Terraform's", make + " PutResourcePolicy DeleteResourcePolicy", registry, nil, "", true},
		{"all parts read the registry", "DescribeTable DescribeTimeToLive ListTagsOfResource BatchGetItem Query", registry, nil, "router rotator reader", false},
		{"all parts query its indexes", read, on("varve_registry/index/gsi1", "varve_registry/index/gsi2"), nil, "router rotator reader", false},
		{"router and rotator write records of tables", "PutItem", registry, item("TABLES"), "router rotator", false},
		{"the rotator deletes records of tables", "DeleteItem", registry, item("TABLES"), "rotator", false},
		{"the router writes devices and alerts, too", "PutItem DeleteItem", registry, item("TENANT#default"), "router rotator", false},
		{"the router writes dirty markers, too", "BatchWriteItem", registry, item("ROLLUP#default/weather/sensor_01"), "router rotator", false},
		{"the router cannot write keys among them", "BatchWriteItem", registry,
			map[string][]string{"dynamodb:LeadingKeys": {"ROLLUP#default/weather/sensor_01", "KEYS"}}, "rotator", false},
		{"the router cannot batch-write records of tables", "BatchWriteItem", registry, item("TABLES"), "rotator", false},
		{"the router cannot delete keys", "DeleteItem", registry, item("KEYS"), "rotator", false},
		{"only the rotator creates keys", "PutItem", registry, item("KEYS"), "rotator", false},
		{"only the rotator takes the lease", "PutItem", registry, item("LEASE"), "rotator", false},
		{"all parts read the template", "BatchGetItem", registry, item(dynamo.TemplateKey().PK), "router rotator reader", false},
		{"no part writes the template", "PutItem UpdateItem DeleteItem BatchWriteItem PartiQLInsert PartiQLUpdate PartiQLDelete", registry, item(dynamo.TemplateKey().PK), "", true},
		{"no part writes the template among other items", "BatchWriteItem PutItem", registry, map[string][]string{"dynamodb:LeadingKeys": {"TABLES", dynamo.TemplateKey().PK}}, "", true},
		{"no part scans the registry", "Scan", append(on("varve_registry/index/gsi1", "varve_registry/index/gsi2"), registry...), nil, "", false},
		{"rotator and reader list tables", "ListTables DescribeLimits", []string{"*"}, nil, "rotator reader", false},
	}
}

// keyMatrix returns the expected permissions on the KMS key that encrypts tables.
func keyMatrix() []permission {
	const use = "Decrypt DescribeKey Encrypt GenerateDataKey"
	dynamodb := map[string][]string{"kms:ViaService": {"dynamodb." + region + ".amazonaws.com"}}
	grant := map[string][]string{"kms:ViaService": dynamodb["kms:ViaService"], "kms:GrantIsForAWSResource": {"true"}}
	another := []string{strings.Replace(kmsKey, "1111", "9999", 1)}
	return []permission{
		{"through DynamoDB", use, []string{kmsKey}, dynamodb, "router rotator reader", false},
		{"not by itself", use + " CreateGrant", []string{kmsKey}, nil, "", false},
		{"nor another", use, another, dynamodb, "", false},
		{"the rotator lets DynamoDB use it", "CreateGrant", []string{kmsKey}, grant, "rotator", false},
		{"through DynamoDB alone", "CreateGrant", []string{kmsKey}, map[string][]string{"kms:GrantIsForAWSResource": {"true"}}, "", false},
		{"and nobody else", "CreateGrant", []string{kmsKey}, dynamodb, "", false},
		{"it is nobody's to end", "ScheduleKeyDeletion DisableKey PutKeyPolicy", []string{kmsKey}, dynamodb, "", false},
	}
}

// everything is a policy that allows everything, such as an administrator may attach.
var everything = policy{[]statement{{Effect: "Allow", Action: oneOrMore{"*"}, Resource: oneOrMore{"*"}}}}

// iamMatrix checks that the planned policies allow exactly what the matrices expect.
func iamMatrix(_ *testing.T, p *planned) []string {
	policies, wrong := policiesOf(p)
	check := func(service string, rows []permission) {
		for _, row := range rows {
			for action := range strings.FieldsSeq(row.actions) {
				for _, resource := range row.resources {
					wrong = append(wrong, row.violations(policies, request{service + ":" + action, resource, row.context})...)
				}
			}
		}
	}
	check("dynamodb", matrix())
	check("kms", keyMatrix())
	return wrong
}

func (row *permission) violations(policies map[string]policy, r request) (wrong []string) {
	for _, part := range []string{"router", "rotator", "reader"} {
		is, err := allowed([]policy{policies[part]}, r)
		if err != nil {
			return append(wrong, err.Error())
		}
		if want := slices.Contains(strings.Fields(row.may), part); is != want {
			wrong = append(wrong, fmt.Sprintf("%s: the %s may %s on %s %v: %t, want %t", row.why, part, r.action, r.resource, r.context, is, want))
		}
	}
	for part, p := range policies {
		if part == "consumer" || part == "notifier" || part == "archiver" {
			continue // these policies have no statements about DynamoDB, and a process has them only beside others
		}
		is, err := allowed([]policy{p, everything}, r)
		if err != nil || row.never && is {
			wrong = append(wrong, fmt.Sprintf("%s: with another policy, the %s may %s on %s %v: %v", row.why, part, r.action, r.resource, r.context, err))
		}
	}
	// A process may have all three policies. Together, they must not allow more than they allow
	// separately.
	together, err := allowed([]policy{policies["router"], policies["rotator"], policies["reader"]}, r)
	if err != nil || together != (row.may != "") {
		wrong = append(wrong, fmt.Sprintf("%s: all of them together may %s on %s: %t, %v", row.why, r.action, r.resource, together, err))
	}
	return wrong
}

// eraser checks that the policy "eraser" allows the deletion of readings, and nothing else. For
// plans without this policy, iamMatrix checks that no policy allows the deletion.
func eraser(_ *testing.T, p *planned) []string {
	policies, wrong := policiesOf(p)
	own := on("varve_1794787200_1795392000_11_2026")
	const others = "PutItem UpdateItem BatchWriteItem PartiQLDelete DeleteTable Query Scan"
	for _, row := range []struct {
		actions   string
		resources []string
		may       bool
	}{
		{"DeleteItem", own, true},
		{others, own, false},
		{"DeleteItem " + others, on("varve_registry", "orders", "varve-other_1794787200_1795392000_11_2026"), false},
	} {
		for action := range strings.FieldsSeq(row.actions) {
			for _, resource := range row.resources {
				may, err := allowed([]policy{policies["eraser"]}, request{"dynamodb:" + action, resource, nil})
				if err != nil || may != row.may {
					wrong = append(wrong, fmt.Sprintf("the eraser may %s on %s: %t, want %t: %v", action, resource, may, row.may, err))
				}
			}
		}
	}
	return wrong
}

// archiver checks the policy "archiver". It must allow only three actions on objects of the bucket, the
// list of the bucket and the use of its KMS key.
func archiver(_ *testing.T, p *planned) []string {
	policies, wrong := policiesOf(p)
	const bucket, another = "arn:aws:s3:::varve-archive-" + account, "arn:aws:s3:::varve-archive-" + account + "2"
	const objects, list, use = "s3:GetObject s3:PutObject s3:DeleteObject", "s3:ListBucket", "kms:Decrypt kms:GenerateDataKey"
	const versions = "s3:GetObjectVersion s3:DeleteObjectVersion s3:ListBucketVersions s3:PutObjectAcl s3:PutObjectRetention s3:BypassGovernanceRetention"
	const settings = "s3:DeleteBucket s3:PutBucketPolicy s3:PutBucketVersioning s3:PutLifecycleConfiguration s3:PutEncryptionConfiguration"
	const keys = "kms:Encrypt kms:CreateGrant kms:PutKeyPolicy kms:ScheduleKeyDeletion"
	for _, row := range []struct {
		actions   string
		resources []string
		may       bool
	}{
		{objects, []string{bucket + "/varve/manifest.json"}, true},
		{list, []string{bucket}, true},
		{use, []string{kmsKey}, true},
		{list + " " + versions, []string{bucket + "/varve/manifest.json"}, false},
		{objects + " " + versions + " " + settings, []string{bucket}, false},
		{objects + " " + list + " " + versions + " " + settings, []string{another, another + "/varve/manifest.json"}, false},
		{keys, []string{kmsKey}, false},
		{use + " " + keys, []string{strings.Replace(kmsKey, "1111", "9999", 1)}, false},
		{"dynamodb:Scan dynamodb:PutItem dynamodb:DeleteItem dynamodb:DeleteTable", on("varve_registry", "varve_1794787200_1795392000_11_2026"), false},
	} {
		for action := range strings.FieldsSeq(row.actions) {
			for _, resource := range row.resources {
				may, err := allowed([]policy{policies["archiver"]}, request{action, resource, nil})
				if err != nil || may != row.may {
					wrong = append(wrong, fmt.Sprintf("the archiver may %s on %s: %t, want %t: %v", action, resource, may, row.may, err))
				}
			}
		}
	}
	return wrong
}

// namesMatch checks that the rotator may create the tables of 24 arrival months with any name that
// the program uses, but never the registry.
func namesMatch(_ *testing.T, p *planned) []string {
	policies, wrong := policiesOf(p)
	patterns := tablePatterns(policies["rotator"])
	if want := []string{"varve-audit_*_*_*_????", "varve_*_*_*_????"}; !slices.Equal(slices.Sorted(slices.Values(patterns)), want) {
		return append(wrong, fmt.Sprintf("the patterns are %v, want %v", patterns, want))
	}
	layout := grid.DefaultPolicy()
	layout.Recent, layout.Future = 52, grid.MaxFuture // more than 60 weekly ranges
	names := 0
	for i := range 24 {
		month := grid.MonthOf(time.Date(2026, time.Month(1+i), 15, 0, 0, 0, 0, time.UTC))
		for _, r := range layout.Ranges(month) {
			for _, prefix := range []string{"varve", "varve-audit"} {
				name := grid.Table{Prefix: prefix, Range: r, Month: month}.Name()
				names++
				if !slices.ContainsFunc(patterns, func(pattern string) bool { return wild(pattern, name) }) {
					wrong = append(wrong, name+" matches no pattern")
				}
			}
		}
	}
	if names < 2*24*60 {
		wrong = append(wrong, fmt.Sprintf("only %d names were looked at", names))
	}
	for _, name := range []string{registryOf(p), "varve_registry", "varve-audit_registry"} {
		if slices.ContainsFunc(patterns, func(pattern string) bool { return wild(pattern, name) }) {
			wrong = append(wrong, "the registry "+name+" matches a pattern of time tables")
		}
	}
	return wrong
}
