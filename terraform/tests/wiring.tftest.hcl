# The root module must create the requested resources, and pass their names and ARNs to the resources
# that use them. The provider is a mock.

mock_provider "aws" {
  override_data {
    target = data.aws_region.current
    values = { region = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_resource "aws_iam_policy" {
    defaults = { arn = "arn:aws:iam::123456789012:policy/made-up" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/made-up" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:eu-central-1:123456789012:made-up" }
  }
  mock_resource "aws_ecs_task_definition" {
    defaults = { arn = "arn:aws:ecs:eu-central-1:123456789012:task-definition/made-up:1" }
  }
  mock_resource "aws_ecs_cluster" {
    defaults = { arn = "arn:aws:ecs:eu-central-1:123456789012:cluster/made-up" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-central-1:123456789012:log-group:made-up" }
  }
}

run "defaults" {
  assert {
    condition     = output.registry.name == "varve_registry"
    error_message = "The registry is ${output.registry.name}."
  }
  assert {
    condition     = sort(keys(output.policy_arns)) == tolist(["reader", "rotator", "router"])
    error_message = "The policies are ${jsonencode(output.policy_arns)}."
  }
  assert {
    condition     = output.topic_arn == "arn:aws:sns:eu-central-1:123456789012:made-up"
    error_message = "Alarms go to ${coalesce(output.topic_arn, "no topic")}."
  }
  assert {
    condition     = output.archive_bucket == null && output.ingest_stream == null && output.service_name == null
    error_message = "A resource was created that was not requested."
  }
  assert {
    condition = jsonencode(output.service_config) == jsonencode({
      classes   = { default = { retention = "1y" } }
      metrics   = { cloudwatch = true }
      retention = { drop = "false" }
      store     = { kind = "dynamodb", region = "eu-central-1", registry = "varve_registry" }
      tables    = { prefix = "varve" }
    })
    error_message = "The configuration is ${jsonencode(output.service_config)}."
  }
  assert {
    condition     = output.template == "{}"
    error_message = "The template is ${output.template}."
  }
}

run "settings" {
  variables {
    settings = { "limits.readings" = "131072", "retention.grace" = "2w" }
  }
  assert {
    condition = jsonencode(output.service_config.limits) == jsonencode({ readings = "131072" }) && jsonencode(output.service_config.retention) == jsonencode({
      drop  = "false"
      grace = "2w"
    })
    error_message = "The configuration is ${jsonencode(output.service_config)}."
  }
  assert {
    condition     = output.settings["limits.readings"] == "131072" && output.settings["retention.grace"] == "2w" && output.settings["tables.prefix"] == "varve"
    error_message = "The settings are ${jsonencode(output.settings)}."
  }
}

run "nothing_but_the_registry" {
  variables {
    prefix     = "small"
    policies   = false
    monitoring = null
  }
  assert {
    condition     = length(module.iam) == 0 && length(module.monitoring) == 0 && output.policy_arns == {} && output.topic_arn == null
    error_message = "Policies or alarms were created."
  }
  assert {
    condition     = output.registry.name == "small_registry" && !contains(keys(output.settings), "metrics.cloudwatch")
    error_message = "The settings are ${jsonencode(output.settings)}."
  }
}

run "archive_without_policies" {
  variables {
    policies  = false
    retention = { drop = true }
    archive   = { bucket = "small-archive" }
  }
  assert {
    condition     = output.service_config.archive.bucket == "small-archive" && output.service_config.retention.drop == "true" && output.policy_arns == {}
    error_message = "The configuration is ${jsonencode(output.service_config)}, the policies ${jsonencode(output.policy_arns)}."
  }
}

run "everything" {
  variables {
    prefix        = "big"
    registry_name = "big.items"
    classes       = { default = { retention = "90d" }, audit = { retention = "forever" } }
    streams       = { access-log = { class = "audit", archive = true, arrivals = true, clock_policy = "correct", lookback = "1h" }, plain = {} }
    monitoring    = { topic_arn = "arn:aws:sns:eu-central-1:123456789012:mine" }
    archive       = { bucket = "big-archive", retention = "10y", merge = false, rate = 5000 }
    retention     = { drop = "archived" }
    ingest        = { shards = 2, stream = "weather", params = "time=arrival", rule = { sql = "SELECT * FROM 'sensors/#'" } }
    queue         = { url = "https://sqs.eu-central-1.amazonaws.com/123456789012/in", arn = "arn:aws:sqs:eu-central-1:123456789012:in", stream = "weather" }
    notifiers     = { team = { kind = "sns", topic = "arn:aws:sns:eu-central-1:123456789012:alerts", severities = ["warning", "critical"] } }
    rejects       = { retention = "60d" }
    doors         = { influx = { enabled = false }, iot_accounts = ["123456789012"] }
    roles         = { analyst = { policies = ["reader"], principals = ["arn:aws:iam::123456789012:root"] } }
    service       = { image = "varve:v0.1.0", subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
  }
  assert {
    condition     = output.settings["store.registry"] == "big.items" && output.registry.name == "big.items"
    error_message = "The registry is ${output.registry.name}."
  }
  assert {
    condition     = jsonencode(output.service_config.streams) == jsonencode({ access-log = { archive = true, arrivals = true, class = "audit", clock_policy = "correct", lookback = "1h" }, plain = {} })
    error_message = "The streams are ${jsonencode(output.service_config.streams)}."
  }
  assert {
    condition     = output.settings["streams.access-log.class"] == "audit" && output.settings["classes.audit.retention"] == "forever"
    error_message = "The settings are ${jsonencode(output.settings)}."
  }
  assert {
    condition     = output.topic_arn == "arn:aws:sns:eu-central-1:123456789012:mine"
    error_message = "Alarms go to ${output.topic_arn}."
  }
  assert {
    condition = jsonencode(output.service_config.ingest) == jsonencode({
      kinesis = { name = "big-readings", params = "time=arrival", stream = "weather" }
      sqs     = { queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/in", stream = "weather" }
    }) && output.settings["ingest.kinesis.name"] == "big-readings"
    error_message = "The consumers are ${jsonencode(output.service_config.ingest)}."
  }
  assert {
    condition = jsonencode([output.service_config.notifiers, output.service_config.rejects, output.service_config.influx, output.service_config.aws]) == jsonencode([
      { team = { kind = "sns", severities = "warning,critical", topic = "arn:aws:sns:eu-central-1:123456789012:alerts" } },
      { retention = "60d" }, { enabled = false }, { iot = { accounts = "123456789012" } }
    ]) && output.settings["notifiers.team.severities"] == "warning,critical" && output.settings["influx.enabled"] == "false"
    error_message = "The settings are ${jsonencode(output.service_config)}."
  }
  assert {
    condition = jsonencode([output.service_config.archive, output.service_config.retention]) == jsonencode([
      { bucket = "big-archive", kind = "s3", merge = false, rate = 5000, region = "eu-central-1", retention = "10y" }, { drop = "archived" }
    ]) && output.settings["archive.bucket"] == "big-archive" && output.settings["retention.drop"] == "archived"
    error_message = "The archive is ${jsonencode(output.service_config)}."
  }
  assert {
    condition     = contains(keys(output.policy_arns), "archiver") && contains(keys(output.policy_arns), "consumer") && contains(keys(output.policy_arns), "notifier")
    error_message = "The policies are ${jsonencode(output.policy_arns)}."
  }
  assert {
    condition     = output.archive_bucket == "big-archive" && output.ingest_stream == "big-readings" && output.service_name == "big"
    error_message = "The bucket is ${output.archive_bucket}, the stream ${output.ingest_stream}, the service ${output.service_name}."
  }
  assert {
    condition     = keys(output.role_arns) == tolist(["analyst"])
    error_message = "The roles are ${jsonencode(output.role_arns)}."
  }
}
