# Varve's resources on AWS, except the time tables. Varve's rotator creates, tunes and drops these
# over time, so Terraform does not manage them.

data "aws_region" "current" {}

locals {
  registry_name = coalesce(var.registry_name, "${var.prefix}_registry")
  # Each retention class has its own table prefix.
  table_prefixes = [for name in sort(keys(var.classes)) : name == "default" ? var.prefix : "${var.prefix}-${name}"]
  kms_keys = toset(compact(concat(
    [var.registry_kms_key_arn, var.template.kms_key],
    [for own in values(var.template.classes) : own.kms_key]
  )))

  # Varve's configuration. Unset values are omitted, so that they get their defaults.
  groups = { for group in distinct(concat(keys(local.own), [for key in keys(var.settings) : split(".", key)[0]])) : group => merge(
    try(local.own[group], {}),
    { for key, value in var.settings : split(".", key)[1] => value if split(".", key)[0] == group }
  ) }
  # The settings of variables other than settings.
  own = { for group, settings in {
    store = {
      kind     = "dynamodb"
      region   = data.aws_region.current.region
      registry = local.registry_name
      endpoint = var.endpoint
    }
    tables    = { prefix = var.prefix }
    retention = var.retention
    metrics   = { cloudwatch = var.monitoring == null ? null : true }
    server    = { hosts = length(var.hosts) > 0 ? join(",", var.hosts) : null }
    alerts    = var.alerts
    rejects   = var.rejects
    influx = {
      enabled    = var.doors.influx.enabled
      device     = var.doors.influx.device == null ? null : join(",", var.doors.influx.device)
      tags       = var.doors.influx.tags
      field_tags = var.doors.influx.field_tags == null ? null : join(",", var.doors.influx.field_tags)
      databases  = var.doors.influx.databases == null ? null : join(",", var.doors.influx.databases)
    }
    archive = {
      kind      = var.archive == null ? null : "s3"
      bucket    = one(module.archive[*].bucket)
      region    = var.archive == null ? null : data.aws_region.current.region
      retention = one(var.archive[*].retention)
      merge     = one(var.archive[*].merge)
      rate      = one(var.archive[*].rate)
    }
  } : group => { for key, value in settings : key => value if value != null } }
  streams = { for name, s in var.streams : name => { for key, value in s : key => value if value != null } }
  reads   = var.ingest == null ? false : var.ingest.stream != null
  sources = { for source, settings in {
    kinesis = local.reads ? { name = "${var.prefix}-readings", stream = var.ingest.stream, format = var.ingest.format, params = var.ingest.params } : {}
    sqs     = var.queue == null ? {} : { queue = var.queue.url, stream = var.queue.stream, format = var.queue.format, params = var.queue.params }
  } : source => { for key, value in settings : key => value if value != null } if length(settings) > 0 }

  aws = merge(
    var.doors.firehose == null ? {} : { firehose = var.doors.firehose },
    length(var.doors.iot_accounts) == 0 ? {} : { iot = { accounts = join(",", var.doors.iot_accounts) } }
  )
  notifiers = { for name, n in var.notifiers : name => { for key, value in {
    kind       = n.kind
    url        = n.url
    topic      = n.topic
    user       = n.user
    secret_env = n.secret_env
    severities = length(n.severities) > 0 ? join(",", n.severities) : null
    streams    = length(n.streams) > 0 ? join(",", n.streams) : null
    rules      = length(n.rules) > 0 ? join(",", n.rules) : null
    tenants    = length(n.tenants) > 0 ? join(",", n.tenants) : null
  } : key => value if value != null } }

  config = merge(
    { for group, settings in local.groups : group => settings if length(settings) > 0 },
    { classes = var.classes },
    length(local.sources) > 0 ? { ingest = local.sources } : null,
    length(local.aws) > 0 ? { aws = local.aws } : null,
    length(local.notifiers) > 0 ? { notifiers = local.notifiers } : null,
    length(local.streams) > 0 ? { streams = local.streams } : null
  )

  # The same settings by key, for use on the command line.
  settings = merge(
    merge([for group, settings in local.groups : { for key, value in settings : "${group}.${key}" => tostring(value) }]...),
    { for name, c in var.classes : "classes.${name}.retention" => c.retention },
    merge([for source, settings in local.sources : { for key, value in settings : "ingest.${source}.${key}" => value }]...),
    var.doors.firehose == null ? {} : { "aws.firehose" = tostring(var.doors.firehose) },
    length(var.doors.iot_accounts) == 0 ? {} : { "aws.iot.accounts" = join(",", var.doors.iot_accounts) },
    merge([for name, n in local.notifiers : { for key, value in n : "notifiers.${name}.${key}" => value }]...),
    merge([for name, s in local.streams : { for key, value in s : "streams.${name}.${key}" => value }]...)
  )
}

module "registry" {
  source = "./modules/registry"

  name                   = local.registry_name
  template               = var.template
  deletion_protection    = var.deletion_protection
  point_in_time_recovery = var.point_in_time_recovery
  kms_key_arn            = var.registry_kms_key_arn
  tags                   = var.tags
}

module "iam" {
  source = "./modules/iam"
  count  = var.policies ? 1 : 0

  name           = var.prefix
  registry_name  = local.registry_name
  table_prefixes = local.table_prefixes
  kms_key_arns   = local.kms_keys
  roles          = var.roles
  erasure        = var.erasure
  topics         = [for n in var.notifiers : n.topic if n.kind == "sns"]
  archive        = var.archive == null ? null : { policy = one(module.archive[*].policy) }
  sources = {
    streams = local.reads ? [module.ingest[0].arn] : []
    queues  = var.queue == null ? [] : [var.queue.arn]
    keys = compact([
      local.reads ? (startswith(var.ingest.kms_key_id, "arn:") ? var.ingest.kms_key_id : null) : null,
      var.queue == null ? null : var.queue.kms_key_arn
    ])
  }
  tags = var.tags
}

module "monitoring" {
  source = "./modules/monitoring"
  count  = var.monitoring == null ? 0 : 1

  name             = var.prefix
  deployment       = var.prefix
  registry_name    = local.registry_name
  topic_arn        = var.monitoring.topic_arn
  topic_kms_key_id = var.monitoring.topic_kms_key_id
  emails           = var.monitoring.emails
  heartbeat_period = var.monitoring.heartbeat_period
  rejected_share   = var.monitoring.rejected_share
  rollup_backlog   = var.monitoring.rollup_backlog
  deliveries       = length(var.notifiers) > 0
  delivery_age     = var.monitoring.delivery_age
  watch_region     = var.monitoring.watch_region
  tags             = var.tags
}

module "archive" {
  source = "./modules/archive"
  count  = var.archive == null ? 0 : 1

  bucket             = var.archive.bucket
  kms_key_arn        = var.archive.kms_key_arn
  glacier_after_days = var.archive.glacier_after_days
  expire_after_days  = var.archive.expire_after_days
  tags               = var.tags
}

module "ingest" {
  source = "./modules/ingest"
  count  = var.ingest == null ? 0 : 1

  name            = "${var.prefix}-readings"
  shards          = var.ingest.shards
  retention_hours = var.ingest.retention_hours
  kms_key_id      = var.ingest.kms_key_id
  rule            = var.ingest.rule
  tags            = var.tags
}

module "service" {
  source = "./modules/service-ecs"
  count  = var.service == null ? 0 : 1

  name               = var.prefix
  image              = var.service.image
  settings           = local.settings
  policy_arns        = module.iam[0].policy_arns
  subnet_ids         = var.service.subnet_ids
  security_group_ids = var.service.security_group_ids
  assign_public_ip   = var.service.assign_public_ip
  cluster_arn        = var.service.cluster_arn
  tasks              = var.service.tasks
  cpu                = var.service.cpu
  memory             = var.service.memory
  architecture       = var.service.architecture
  proxy              = var.service.proxy
  secrets            = var.service.secrets
  target_group_arn   = var.service.target_group_arn
  log_retention_days = var.service.log_retention_days
  tags               = var.tags
}
