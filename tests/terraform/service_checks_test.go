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

type container struct {
	Name         string
	Image        string
	Essential    bool
	Command      []string
	PortMappings []struct{ ContainerPort int }
	DependsOn    []struct{ ContainerName, Condition string }
	Secrets      []struct{ Name, ValueFrom string }

	LogConfiguration struct {
		LogDriver string
		Options   map[string]string
	}
}

// containersOf returns the containers of the planned task definition, and the faults of their logs.
func containersOf(p *planned) (containers []container, wrong []string) {
	tasks := p.resources("aws_ecs_task_definition")
	if len(tasks) != 1 {
		return nil, []string{fmt.Sprintf("%d task definitions", len(tasks))}
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(tasks[0].AttributeValues["container_definitions"])), &containers); err != nil {
		return nil, []string{err.Error()}
	}
	for _, c := range containers {
		if !c.Essential || c.LogConfiguration.LogDriver != "awslogs" || c.LogConfiguration.Options["awslogs-group"] != "/varve/varve" {
			wrong = append(wrong, fmt.Sprintf("container %s: essential %t, logs %v", c.Name, c.Essential, c.LogConfiguration))
		}
	}
	return containers, wrong
}

// service checks the container of Varve on Fargate, its load balancer and the policies of the task. The
// settings must equal the output service_config, except for two settings of the server: it listens on
// all addresses, and the load balancer terminates TLS.
func service(t *testing.T, p *planned) []string {
	containers, wrong := containersOf(p)
	if len(containers) != 1 {
		return append(wrong, fmt.Sprintf("%d containers", len(containers)))
	}
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := sameConfig(t, p, containers[0].Command, config.Server{Listen: "0.0.0.0:8278", Proxied: true}); err != nil {
		bad("%v", err)
	}
	if s := containers[0].Secrets; len(s) != 1 || s[0].Name != "HOOK_SECRET" || !strings.HasSuffix(s[0].ValueFrom, ":secret:hook") {
		bad("the secrets are %v", s)
	}
	if ports := containers[0].PortMappings; len(ports) != 1 || ports[0].ContainerPort != 8278 {
		bad("the ports are %v", ports)
	}
	for _, s := range p.resources("aws_ecs_service") {
		if lb := blocks(s.AttributeValues, "load_balancer"); len(lb) != 1 || lb[0]["container_name"] != "varve" || number(lb[0]["container_port"]) != 8278 {
			bad("the load balancer reaches %v", lb)
		}
	}
	var attached []string
	for _, r := range p.resources("aws_iam_role_policy_attachment") {
		if _, name, ok := strings.Cut(r.Address, `module.service[0].aws_iam_role_policy_attachment.task["`); ok {
			attached = append(attached, strings.TrimSuffix(name, `"]`))
		}
	}
	if slices.Sort(attached); !slices.Equal(attached, []string{"archiver", "consumer", "notifier", "reader", "rotator", "router"}) {
		bad("the task has the policies %v", attached)
	}
	return wrong
}

// proxied checks that clients can reach Varve only through its proxy.
func proxied(t *testing.T, p *planned) []string {
	containers, wrong := containersOf(p)
	if len(containers) != 2 {
		return append(wrong, fmt.Sprintf("%d containers", len(containers)))
	}
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	proxy, varve := containers[0], containers[1] // the provider sorts the containers by name
	if err := sameConfig(t, p, varve.Command, config.Default().Server); err != nil {
		bad("%v", err)
	}
	if len(varve.PortMappings) != 0 || len(proxy.PortMappings) != 1 || proxy.PortMappings[0].ContainerPort != 8443 {
		bad("the ports are %v and %v", varve.PortMappings, proxy.PortMappings)
	}
	if len(proxy.DependsOn) != 1 || proxy.DependsOn[0].ContainerName != "varve" {
		bad("the proxy waits for %v", proxy.DependsOn)
	}
	if len(proxy.Secrets) != 1 || proxy.Secrets[0].ValueFrom != secret {
		bad("the proxy's secrets are %v", proxy.Secrets)
	}
	return wrong
}

// secret is the ARN of a secret that the proxy uses.
const secret = "arn:aws:secretsmanager:" + region + ":" + account + ":secret:proxy"

// sameConfig compares the command of a container with service_config. Only server.listen and
// server.proxied may differ. The parameter "listens" has their expected values.
func sameConfig(t *testing.T, p *planned, command []string, listens config.Server) error {
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
	want.Server.Listen, want.Server.Proxied = listens.Listen, listens.Proxied
	if !reflect.DeepEqual(got.Config, want.Config) {
		return fmt.Errorf("the settings are %+v, service_config has %+v", got.Config, want.Config)
	}
	return nil
}

// archive checks the name of the bucket, and that the bucket is private, versioned and encrypted with the
// user's KMS key. The policy of the bucket must have a condition on aws:SecureTransport. The Kinesis
// stream must be encrypted, and retain records for a week.
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
	for _, rule := range blocks(one("aws_s3_bucket_server_side_encryption_configuration"), "rule") {
		if by := blocks(rule, "apply_server_side_encryption_by_default"); len(by) != 1 || by[0]["kms_master_key_id"] != kmsKey {
			wrong = append(wrong, fmt.Sprintf("archives are encrypted by %v", by))
		}
	}
	if text := fmt.Sprint(one("aws_s3_bucket_policy")["policy"]); !strings.Contains(text, "aws:SecureTransport") {
		wrong = append(wrong, "unencrypted connections are taken: "+text)
	}
	if s := one("aws_kinesis_stream"); s["encryption_type"] != "KMS" || number(s["retention_period"]) != 168 {
		wrong = append(wrong, fmt.Sprintf("the stream is %v for %v h", s["encryption_type"], s["retention_period"]))
	}
	return wrong
}

// quiet checks that a plan has no warnings, for example about deprecated attributes.
func quiet(_ *testing.T, p *planned) []string {
	if i := strings.Index(p.text, "Warning:"); i >= 0 {
		return []string{p.text[i:]}
	}
	return nil
}

// onlyNew checks that the first plan of a deployment only creates resources.
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
