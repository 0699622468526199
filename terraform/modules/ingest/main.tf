# A Kinesis stream to which devices can write while Varve is down. Varve reads it if the settings
# ingest.kinesis name it. A rule of AWS IoT Core can write the messages of devices to it.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  # The resource has the same ARN, but only after it is created. Policies need the ARN when they are
  # planned.
  arn = "arn:${data.aws_partition.current.partition}:kinesis:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:stream/${var.name}"
}

resource "aws_kinesis_stream" "this" {
  name             = var.name
  shard_count      = var.shards
  retention_period = var.retention_hours
  encryption_type  = "KMS"
  kms_key_id       = var.kms_key_id
  tags             = var.tags

  stream_mode_details {
    stream_mode = var.shards == null ? "ON_DEMAND" : "PROVISIONED"
  }
}

data "aws_iam_policy_document" "trust" {
  count = var.rule == null ? 0 : 1

  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["iot.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "rule" {
  count = var.rule == null ? 0 : 1

  statement {
    sid       = "Records"
    actions   = ["kinesis:PutRecord"]
    resources = [local.arn]
  }

  dynamic "statement" {
    for_each = startswith(var.kms_key_id, "arn:") ? [var.kms_key_id] : []
    content {
      sid       = "Key"
      actions   = ["kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role" "rule" {
  count = var.rule == null ? 0 : 1

  name               = "${var.name}-rule"
  description        = "Permissions of AWS IoT Core to write to the stream ${var.name}."
  assume_role_policy = data.aws_iam_policy_document.trust[0].json
  tags               = var.tags
}

resource "aws_iam_role_policy" "rule" {
  count = var.rule == null ? 0 : 1

  name   = "stream"
  role   = aws_iam_role.rule[0].id
  policy = data.aws_iam_policy_document.rule[0].json
}

resource "aws_iot_topic_rule" "this" {
  count = var.rule == null ? 0 : 1

  name        = replace(replace(var.name, "-", "_"), ".", "_")
  description = "Writes messages of devices to the stream ${var.name}."
  enabled     = var.rule.enabled
  sql         = var.rule.sql
  sql_version = "2016-03-23"
  tags        = var.tags

  kinesis {
    stream_name   = aws_kinesis_stream.this.name
    partition_key = var.rule.partition_key
    role_arn      = aws_iam_role.rule[0].arn
  }

  depends_on = [aws_iam_role_policy.rule]
}
