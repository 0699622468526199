package terraform_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/varvedb/varve/config"
)

// container is one of a task's.
type container struct {
	Name         string
	Image        string
	Essential    bool
	Command      []string
	PortMappings []struct{ ContainerPort int }
	DependsOn    []struct{ ContainerName, Condition string }
	HealthCheck  struct{ Command []string }
	StopTimeout  int

	LogConfiguration struct {
		LogDriver string
		Options   map[string]string
	}
}

// service: Varve on Fargate is told the same as service_config says, has the
// three policies, and is not reached but by its proxy.
func service(t *testing.T, p *planned) (wrong []string) {
	tasks := p.resources("aws_ecs_task_definition")
	if len(tasks) != 1 {
		return []string{fmt.Sprintf("%d task definitions", len(tasks))}
	}
	var containers []container
	if err := json.Unmarshal([]byte(fmt.Sprint(tasks[0].AttributeValues["container_definitions"])), &containers); err != nil || len(containers) != 2 {
		return []string{fmt.Sprintf("the containers are %v: %v", tasks[0].AttributeValues["container_definitions"], err)}
	}
	proxy, varve := containers[0], containers[1] // the provider puts them in order
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := sameConfig(t, p, varve.Command); err != nil {
		bad("%v", err)
	}
	if len(varve.PortMappings) != 0 || len(proxy.PortMappings) != 1 || proxy.PortMappings[0].ContainerPort != 8443 {
		bad("the ports are %v and %v", varve.PortMappings, proxy.PortMappings)
	}
	if len(proxy.DependsOn) != 1 || proxy.DependsOn[0].ContainerName != "varve" || !slices.Equal(varve.HealthCheck.Command, []string{"CMD", "varve", "streams"}) {
		bad("the proxy waits for %v, and Varve's health is %v", proxy.DependsOn, varve.HealthCheck)
	}
	for _, c := range containers {
		if !c.Essential || c.LogConfiguration.LogDriver != "awslogs" || c.LogConfiguration.Options["awslogs-group"] != "/varve/varve" {
			bad("container %s: essential %t, logs %v", c.Name, c.Essential, c.LogConfiguration)
		}
	}
	var attached []string
	for _, r := range p.resources("aws_iam_role_policy_attachment") {
		if name, ok := strings.CutPrefix(r.Address, `module.varve.module.service[0].aws_iam_role_policy_attachment.task["`); ok {
			attached = append(attached, strings.TrimSuffix(name, `"]`))
		}
	}
	if slices.Sort(attached); !slices.Equal(attached, []string{"reader", "rotator", "router"}) {
		bad("the task has the policies %v", attached)
	}
	return wrong
}

// sameConfig compares the command of a container with service_config.
func sameConfig(t *testing.T, p *planned, command []string) error {
	if len(command) == 0 || command[0] != "serve" {
		return fmt.Errorf("the command is %v", command)
	}
	src := config.Source{Flags: map[string]string{}, FlagNames: map[string]string{}}
	for i := 1; i+1 < len(command); i += 2 {
		key, value, ok := strings.Cut(command[i+1], "=")
		if command[i] != "--set" || !ok {
			return fmt.Errorf("the command is %v", command)
		}
		src.Flags[key], src.FlagNames[key] = value, "--set"
	}
	got, err := config.Load(src)
	if err != nil {
		return err
	}
	want, err := loadConfig(t, p)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got.Config, want.Config) {
		return fmt.Errorf("it is told %+v, and service_config says %+v", got.Config, want.Config)
	}
	return nil
}

// archive: what is kept is private, encrypted, and old versions end.
func archive(_ *testing.T, p *planned) (wrong []string) {
	one := func(kind string) map[string]any {
		all := p.resources(kind)
		if len(all) != 1 {
			wrong = append(wrong, fmt.Sprintf("%d of %s", len(all), kind))
			return nil
		}
		return all[0].AttributeValues
	}
	if b := one("aws_s3_bucket"); b["bucket"] != "varve-archive-"+account {
		wrong = append(wrong, fmt.Sprintf("the bucket is %v", b["bucket"]))
	}
	block := one("aws_s3_bucket_public_access_block")
	for _, what := range []string{"block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"} {
		if block[what] != true {
			wrong = append(wrong, "the bucket is not private: "+what)
		}
	}
	if v := blocks(one("aws_s3_bucket_versioning"), "versioning_configuration"); len(v) != 1 || v[0]["status"] != "Enabled" {
		wrong = append(wrong, fmt.Sprintf("versioning is %v", v))
	}
	if text := fmt.Sprint(one("aws_s3_bucket_policy")["policy"]); !strings.Contains(text, "aws:SecureTransport") {
		wrong = append(wrong, "unencrypted connections are taken: "+text)
	}
	if s := one("aws_kinesis_stream"); s["encryption_type"] != "KMS" || number(s["retention_period"]) != 168 {
		wrong = append(wrong, fmt.Sprintf("the stream is %v for %v h", s["encryption_type"], s["retention_period"]))
	}
	return wrong
}

// quiet: nothing is deprecated, and nothing else is warned of.
func quiet(_ *testing.T, p *planned) []string {
	if i := strings.Index(p.text, "Warning:"); i >= 0 {
		return []string{p.text[i:]}
	}
	return nil
}

// onlyNew: a first plan makes things, and changes or replaces none.
func onlyNew(_ *testing.T, p *planned) (wrong []string) {
	made := 0
	for _, c := range p.RawPlan.ResourceChanges {
		switch {
		case c.Mode == tfjson.DataResourceMode:
		case c.Change.Actions.Create():
			made++
		default:
			wrong = append(wrong, fmt.Sprintf("%s: %v", c.Address, c.Change.Actions))
		}
	}
	if made == 0 {
		wrong = append(wrong, "nothing is planned")
	}
	return wrong
}
