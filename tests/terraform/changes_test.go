package terraform_test

// Files of the modules that the tests change.
const (
	registryMain   = "modules/registry/main.tf"
	iamMain        = "modules/iam/main.tf"
	iamOutputs     = "modules/iam/outputs.tf"
	monitoringMain = "modules/monitoring/main.tf"
	serviceMain    = "modules/service-ecs/main.tf"
	archiveMain    = "modules/archive/main.tf"
	rootMain       = "main.tf"
)

var changes = []change{
	{registryMain, `  hash_key                    = "pk"
  range_key                   = "sk"`, `  hash_key                    = "sk"
  range_key                   = "pk"`, "registry"},
	{registryMain, `attribute_name = "${global_secondary_index.value}pk"
        key_type       = "HASH"
      }
      key_schema {
        attribute_name = "${global_secondary_index.value}sk"`, `attribute_name = "${global_secondary_index.value}sk"
        key_type       = "HASH"
      }
      key_schema {
        attribute_name = "${global_secondary_index.value}pk"`, "registry"},
	{registryMain, `projection_type = "ALL"`, `projection_type = "KEYS_ONLY"`, "registry"},
	{registryMain, `attribute_name = "ttl"`, `attribute_name = "expires"`, "registry"},
	{registryMain, `"varve:owner" = var.name`, `"varve:owner" = "varve"`, "registry"},
	{registryMain, `enabled = var.point_in_time_recovery`, `enabled = false`, "registry"},
	{registryMain, `deletion_protection_enabled = var.deletion_protection`, `deletion_protection_enabled = false`, "registry"},
	{registryMain, `kms_key_arn = server_side_encryption.value`, `kms_key_arn = null`, "registry encrypted"},
	{registryMain, `    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]`, `    for_each = []`, "registry encrypted"},
	{registryMain, `sk       = { S = "TABLES" }`, `sk       = { S = "TABLE" }`, "template"},
	{registryMain, `billing                = s.billing`, `billing_mode           = s.billing`, "template"},
	{registryMain, `kms_key                = s.kms_key`, `kms_key                = null`, "template"},
	{registryMain, `{ classes = local.classes }`, `{ classes = {} }`, "template"},
	{registryMain, `resource "aws_dynamodb_table_item" "template" {`, `resource "aws_dynamodb_table" "week" {
  name         = "varve_1794787200_1795392000_11_2026"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "series"
  attribute {
    name = "series"
    type = "S"
  }
}

resource "aws_dynamodb_table_item" "template" {`, "only the registry"},
	{registryMain, `    content {
      name            = global_secondary_index.value
      projection_type = "ALL"
      key_schema {
        attribute_name = "${global_secondary_index.value}pk"
        key_type       = "HASH"
      }
      key_schema {
        attribute_name = "${global_secondary_index.value}sk"
        key_type       = "RANGE"
      }
    }`, `    content {
      name            = global_secondary_index.value
      projection_type = "ALL"
      hash_key        = "${global_secondary_index.value}pk"
      range_key       = "${global_secondary_index.value}sk"
    }`, "quiet"},
	{rootMain, `data.aws_region.current.region`, `data.aws_region.current.name`, "quiet"},

	{rootMain, `registry = local.registry_name
      endpoint`, `registry = local.registry_name
      table    = local.registry_name
      endpoint`, "config decodes"},
	{rootMain, `cloudwatch = var.monitoring == null ? null : true`, `cloudwatch = null`, "config decodes"},
	{rootMain, `{ classes = var.classes },`, `{ classes = { default = var.classes["default"] } },`, "config decodes"},
	{rootMain, `retention = var.retention
`, `retention = { drop = false }
`, "config"},
	{rootMain, `length(local.streams) > 0 ? { streams = local.streams } : null`, `null`, "config"},

	{rootMain, `kind      = var.archive == null ? null : "s3"`, `kind      = var.archive == null ? null : "folder"`, "config decodes"},
	{rootMain, `bucket    = one(module.archive[*].bucket)`, `bucket    = "readings"`, "config"},
	{rootMain, `region    = var.archive == null ? null : data.aws_region.current.region`, `region    = null`, "config"},
	{rootMain, `retention = one(var.archive[*].retention)`, `retention = null`, "config"},
	{rootMain, `kind      = var.archive == null ? null : "s3"`, `kind      = null`, "config decodes"},

	{iamMain, `"${local.table_arn}/${prefix}_*_*_*_????"`, `"${local.table_arn}/${prefix}*"`, "IAM"},
	{iamMain, `"${local.table_arn}/${prefix}_*_*_*_????"`, `"${local.table_arn}/${prefix}_*"`, "names"},
	{iamMain, `"${local.table_arn}/${prefix}_*_*_*_????"`, `"${local.table_arn}/${prefix}_*_*_??_20??"`, "names"},
	{iamMain, `"${local.table_arn}/${prefix}_*_*_*_????"`, `"${local.table_arn}/*"`, "narrow"},
	{iamMain, `:${data.aws_caller_identity.current.account_id}:`, `:*:`, "IAM"},
	{iamMain, `dynamodb:${data.aws_region.current.region}:`, `dynamodb:*:`, "IAM"},
	{iamMain, `tables   = ["dynamodb:DescribeTable", "dynamodb:PutItem",`, `tables   = ["dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:PutItem",`, "IAM"},
	{iamMain, `tables   = ["dynamodb:DescribeTable", "dynamodb:PutItem",`, `tables   = ["dynamodb:DescribeTable",`, "IAM"},
	{iamMain, `tables   = ["dynamodb:DescribeTable", "dynamodb:Query",`, `tables   = ["dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Query",`, "IAM"},
	{iamMain, `tables   = ["dynamodb:DescribeTable", "dynamodb:Query", "dynamodb:Scan"]`, `tables   = ["dynamodb:*"]`, "narrow"},
	{iamMain, `"dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive",
      ]`, `"dynamodb:UpdateTimeToLive",
      ]`, "IAM"},
	{iamMain, `registry = local.registry_reads
`, `registry = concat(local.registry_reads, ["dynamodb:Scan"])
`, "IAM"},
	{iamMain, `PutItem        = ["KEYS", "LEASE"]`, `PutItem        = ["KEYS"]`, "IAM"},
	{iamMain, `      "dynamodb:TagResource", "dynamodb:UntagResource", "dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive",
    ]
    resources = [local.registry, local.indexes]`, `      "dynamodb:TagResource",
    ]
    resources = ["${local.table_arn}/none"]`, "IAM"},
	{iamMain, `PutItem        = ["KEYS", "LEASE"]`, `PutItem        = ["LEASE"]`, "IAM"},
	{iamMain, `["KEYS", "LEASE", "TABLES"]`, `["KEYS", "LEASE"]`, "IAM"},
	{iamMain, `values   = ["TEMPLATE"]`, `values   = ["TEMPLATES"]`, "IAM"},
	{iamMain, `test     = "ForAnyValue:StringEquals"`, `test     = "StringEquals"`, "IAM"},
	{iamMain, `      actions   = ["kms:CreateGrant"]
      resources = statement.value
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["dynamodb.${data.aws_region.current.region}.amazonaws.com"]
      }
`, `      actions   = ["kms:CreateGrant"]
      resources = statement.value
`, "IAM"},
	{iamMain, `resources = statement.value
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"`, `resources = ["*"]
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"`, "narrow"},

	{monitoringMain, `varve     = "Varve"`, `varve     = "varve"`, "alarms"},
	{monitoringMain, `{ Deployment = var.deployment }`, `{ Prefix = var.deployment }`, "alarms"},
	{monitoringMain, `metric_name         = "TablesReadyAhead"`, `metric_name         = "TablesReady"`, "alarms"},
	{monitoringMain, `treat_missing_data  = "breaching"`, `treat_missing_data  = "notBreaching"`, "alarms"},
	{monitoringMain, `period              = var.heartbeat_period
  evaluation_periods  = 3`, `period              = 300
  evaluation_periods  = 3`, "alarms"},
	{monitoringMain, `IF(readings > 0, rejected / readings, 0)`, `rejected / readings`, "alarms"},
	{monitoringMain, `dimensions  = { TableName = var.registry_name, Operation = metric_query.value }`, `dimensions  = { TableName = var.registry_name }`, "alarms"},
	{monitoringMain, `alarm_actions       = [local.topic]`, `alarm_actions       = []`, "alarms"},
	{monitoringMain, `metric_name         = "DeliveriesFailed"`, `metric_name         = "Deliveries"`, "alarms"},
	{monitoringMain, `["RotationSuccess", "TablesReadyAhead"]`, `["RotationSuccess"]`, "dashboard"},

	{serviceMain, `["--set", "${key}=${local.settings[key]}"]`, `key == "retention.drop" ? [] : ["--set", "${key}=${local.settings[key]}"]`, "service"},
	{serviceMain, `  for_each = var.policy_arns
`, `  for_each = { for name, arn in var.policy_arns : name => arn if name != "rotator" }
`, "service"},
	{serviceMain, `resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(local.secrets)`, `resources = ["*"]
    }
  }

  dynamic "statement" {
    for_each = length(local.secrets)`, "narrow"},
	{serviceMain, `log-group:${local.log_group}:*`, `log-group:${aws_cloudwatch_log_group.this.arn}:*`, "narrow"},
	{serviceMain, `secrets          = [for key in sort(keys(var.secrets))`, `secrets          = [for key in []`, "service"},
	{rootMain, `length(local.notifiers) > 0 ? { notifiers = local.notifiers } : null,`, `null,`, "config"},
	{serviceMain, `"0.0.0.0:8278"`, `"127.0.0.1:8278"`, "service"},
	{serviceMain, `if e.container == "varve"`, `if e.container == "proxy"`, "service"},
	{serviceMain, `container_port   = local.entrance.port`, `container_port   = 80`, "service"},
	{archiveMain, `restrict_public_buckets = true`, `restrict_public_buckets = false`, "archive"},
	{archiveMain, `status = "Enabled"`, `status = "Suspended"`, "archive"},
	{archiveMain, `kms_master_key_id = var.kms_key_arn`, `kms_master_key_id = null`, "archive"},
	{archiveMain, `["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]`, `["s3:GetObject", "s3:PutObject"]`, "archiver"},
	{archiveMain, `["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]`, `["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:PutObject"]`, "archiver"},
	{archiveMain, `actions   = ["s3:ListBucket"]`, `actions   = ["s3:ListBucket", "s3:PutBucketVersioning"]`, "archiver"},
	{archiveMain, `resources = ["arn:${data.aws_partition.current.partition}:s3:::${var.bucket}/*"]`, `resources = ["arn:${data.aws_partition.current.partition}:s3:::${var.bucket}*"]`, "archiver"},
	{archiveMain, `resources = [statement.value]`, `resources = ["*"]`, "narrow"},
	{archiveMain, `"kms:GenerateDataKey"]`, `"kms:GenerateDataKey", "kms:CreateGrant"]`, "archiver"},
	{iamMain, `policy      = var.archive.policy`, `policy      = data.aws_iam_policy_document.this["reader"].json`, "archiver"},
	{iamOutputs, `{ archiver = aws_iam_policy.archiver[0].arn }`, `{}`, "service"},
}
