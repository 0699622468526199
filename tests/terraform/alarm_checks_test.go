package terraform_test

import (
	"encoding/json"
	"fmt"
	"github.com/varvedb/varve/cloudwatch"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// alarm has the properties of an alarm that the checks compare.
type alarm struct {
	metrics  []string // namespace, name, dimensions, statistic, period
	compares string   // operator and threshold, as text
	over     string   // number of breaching periods and of evaluated periods
	missing  string   // treatment of missing data
}

// series formats a metric as it is written in alarm.metrics.
func series(namespace, name, stat string, period int, dimensions ...string) string {
	return fmt.Sprintf("%s %s %s %s %d", namespace, name, strings.Join(dimensions, ","), stat, period)
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}

func dimensionsOf(v any) (list []string) {
	m, _ := v.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprintf("%s=%v", k, m[k]))
	}
	return list
}

func alarmOf(a map[string]any) alarm {
	is := alarm{
		compares: fmt.Sprintf("%v %v", a["comparison_operator"], a["threshold"]),
		over:     fmt.Sprintf("%v of %v", a["datapoints_to_alarm"], a["evaluation_periods"]),
		missing:  fmt.Sprint(a["treat_missing_data"]),
	}
	if a["datapoints_to_alarm"] == nil {
		is.over = fmt.Sprintf("%[1]v of %[1]v", a["evaluation_periods"])
	}
	if a["metric_name"] != nil {
		is.metrics = []string{series(fmt.Sprint(a["namespace"]), fmt.Sprint(a["metric_name"]), fmt.Sprint(a["statistic"]), number(a["period"]), dimensionsOf(a["dimensions"])...)}
	}
	for _, q := range blocks(a, "metric_query") {
		if e, _ := q["expression"].(string); e != "" {
			is.metrics = append(is.metrics, e)
		}
		for _, m := range blocks(q, "metric") {
			is.metrics = append(is.metrics, series(fmt.Sprint(m["namespace"]), fmt.Sprint(m["metric_name"]), fmt.Sprint(m["stat"]), number(m["period"]), dimensionsOf(m["dimensions"])...))
		}
	}
	slices.Sort(is.metrics)
	return is
}

func wantedAlarms() map[string]alarm {
	deployment := cloudwatch.DimensionDeployment + "=varve"
	own := func(name, stat string, period int) string {
		return series(cloudwatch.Namespace, name, stat, period, deployment)
	}
	table := "TableName=varve_registry"
	throttles := []string{"SUM(METRICS())"}
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		throttles = append(throttles, series("AWS/DynamoDB", name, "Sum", 60, table),
			series("AWS/DynamoDB", name, "Sum", 60, "GlobalSecondaryIndexName=gsi1", table), series("AWS/DynamoDB", name, "Sum", 60, "GlobalSecondaryIndexName=gsi2", table))
	}
	failures := []string{"SUM(METRICS())"}
	for _, op := range []string{"BatchGetItem", "BatchWriteItem", "DeleteItem", "PutItem", "Query"} {
		failures = append(failures, series("AWS/DynamoDB", "SystemErrors", "Sum", 60, "Operation="+op, table))
	}
	query := func(metric string) []string {
		return []string{fmt.Sprintf(`SELECT SUM(%s) FROM SCHEMA("AWS/DynamoDB", Operation, TableName)`, metric)}
	}
	all := map[string]alarm{
		"rotation-heartbeat": {[]string{own(cloudwatch.RotationSuccess, "Sum", 3600)}, "LessThanThreshold 1", "3 of 3", "breaching"},
		"tables-ready-ahead": {[]string{own(cloudwatch.TablesReadyAhead, "Maximum", 3600)}, "LessThanThreshold 1", "2 of 2", "ignore"},
		"rejected-share": {[]string{"IF(readings > 0, rejected / readings, 0)", own(cloudwatch.Readings, "Sum", 300), own(cloudwatch.ReadingsRejected, "Sum", 300)},
			"GreaterThanThreshold 0.05", "3 of 3", "notBreaching"},
		"rollup-backlog":       {[]string{own(cloudwatch.RollupBacklog, "Maximum", 300)}, "GreaterThanThreshold 10000", "6 of 6", "notBreaching"},
		"deliveries-failed":    {[]string{own(cloudwatch.DeliveriesFailed, "Sum", 300)}, "GreaterThanThreshold 0", "1 of 1", "notBreaching"},
		"delivery-age":         {[]string{own(cloudwatch.DeliveryAge, "Maximum", 300)}, "GreaterThanThreshold 600", "1 of 1", "notBreaching"},
		"throttling":           {throttles, "GreaterThanThreshold 0", "3 of 5", "notBreaching"},
		"system-errors":        {failures, "GreaterThanThreshold 0", "3 of 5", "notBreaching"},
		"region-throttling":    {query("ThrottledRequests"), "GreaterThanThreshold 0", "3 of 5", "notBreaching"},
		"region-system-errors": {query("SystemErrors"), "GreaterThanThreshold 0", "3 of 5", "notBreaching"},
	}
	for _, a := range all {
		slices.Sort(a.metrics)
	}
	return all
}

// alarms checks that the plan has exactly the wanted alarms. Each must have a description, and
// notify a topic.
func alarms(_ *testing.T, p *planned) (wrong []string) {
	wanted := wantedAlarms()
	for _, r := range p.resources("aws_cloudwatch_metric_alarm") {
		name := strings.TrimPrefix(fmt.Sprint(r.AttributeValues["alarm_name"]), "varve-")
		want, ok := wanted[name]
		if got := alarmOf(r.AttributeValues); !ok || !reflect.DeepEqual(got, want) {
			wrong = append(wrong, fmt.Sprintf("alarm %s is %+v, want %+v", name, got, want))
		}
		if len(fmt.Sprint(r.AttributeValues["alarm_description"])) < 20 {
			wrong = append(wrong, name+" has no remedy in its description")
		}
		delete(wanted, name)
	}
	for name := range wanted {
		wrong = append(wrong, "missing alarm "+name)
	}
	return append(wrong, notified(p)...)
}

// notified checks that each alarm notifies a topic that has subscribers. A plan does not know the
// ARN of the topic, but shows that one will be set.
func notified(p *planned) (wrong []string) {
	for _, c := range p.RawPlan.ResourceChanges {
		if c.Type != "aws_cloudwatch_metric_alarm" {
			continue
		}
		unknown, _ := c.Change.AfterUnknown.(map[string]any)
		after, _ := c.Change.After.(map[string]any)
		for _, action := range []string{"alarm_actions", "ok_actions"} {
			if unknown[action] == nil && after[action] == nil {
				wrong = append(wrong, c.Address+" has no "+action)
			}
		}
	}
	if len(p.resources("aws_sns_topic_subscription")) == 0 {
		wrong = append(wrong, "the topic has no subscription")
	}
	return wrong
}

// dashboard checks that the dashboard shows each metric of Varve, and no metric that Varve does not
// have.
func dashboard(_ *testing.T, p *planned) (wrong []string) {
	boards := p.resources("aws_cloudwatch_dashboard")
	if len(boards) != 1 {
		return []string{fmt.Sprintf("%d dashboards", len(boards))}
	}
	var body struct {
		Widgets []struct {
			Width, Height int
			Properties    struct {
				Title, Region, Stat string
				Period              int
				Metrics             [][]any
			}
		}
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(boards[0].AttributeValues["dashboard_body"])), &body); err != nil {
		return []string{err.Error()}
	}
	shown := map[string]bool{}
	for _, w := range body.Widgets {
		if w.Properties.Title == "" || w.Properties.Region != region || w.Properties.Period < 60 || w.Width != 12 {
			wrong = append(wrong, fmt.Sprintf("the widget %+v", w))
		}
		for _, m := range w.Properties.Metrics {
			if len(m) == 4 && m[0] == cloudwatch.Namespace && m[2] == cloudwatch.DimensionDeployment && m[3] == "varve" {
				shown[fmt.Sprint(m[1])] = true
			}
		}
	}
	want := []string{cloudwatch.DeliveriesFailed, cloudwatch.DeliveryAge, cloudwatch.Readings, cloudwatch.ReadingsRejected, cloudwatch.RollupBacklog, cloudwatch.RotationSuccess, cloudwatch.TablesReadyAhead}
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("it shows %v, want %v", got, want))
	}
	return wrong
}
