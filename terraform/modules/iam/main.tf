# Three policies, and up to four more. The router writes readings. The rotator creates, tunes and
# deletes time tables. The reader reads. Variables enable the other four: the consumer reads streams
# and queues, the notifier publishes messages about alerts, the eraser deletes readings, and the
# archiver writes archives. A process needs the policies of the parts that it runs. No policy allows
# changes to the registry's table or the table template, which Terraform manages.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  table_arn = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table"
  registry  = "${local.table_arn}/${var.registry_name}"
  indexes   = "${local.registry}/index/*"
  tables    = [for prefix in sort(tolist(var.table_prefixes)) : "${local.table_arn}/${prefix}_*_*_*_????"]

  # The actions that each part needs on the registry, on time tables, and on all resources.
  registry_reads = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:ListTagsOfResource", "dynamodb:Query"]
  actions = {
    router = {
      registry = local.registry_reads
      tables   = ["dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:UpdateItem"]
      anything = []
    }
    rotator = {
      registry = concat(local.registry_reads, ["dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PutItem"])
      tables = [
        "dynamodb:CreateTable", "dynamodb:DeleteTable", "dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable",
        "dynamodb:DescribeTimeToLive", "dynamodb:ListTagsOfResource", "dynamodb:TagResource", "dynamodb:UntagResource",
        "dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive",
      ]
      anything = ["dynamodb:DescribeLimits", "dynamodb:ListTables"]
    }
    reader = {
      registry = local.registry_reads
      tables   = ["dynamodb:DescribeTable", "dynamodb:Query", "dynamodb:Scan"]
      anything = ["dynamodb:DescribeLimits", "dynamodb:ListTables"]
    }
  }
  reads_sources = length(var.sources.streams) + length(var.sources.queues) > 0
  roles = { for r in flatten([
    for role, r in var.roles : [for policy in r.policies : { role = role, policy = policy }]
  ]) : "${r.role}/${r.policy}" => r }
}

data "aws_iam_policy_document" "this" {
  for_each = local.actions

  statement {
    sid       = "Registry"
    actions   = each.value.registry
    resources = [local.registry, local.indexes]
  }

  statement {
    sid       = "TimeTables"
    actions   = each.value.tables
    resources = local.tables
  }

  # A router must not acquire leases: a router that holds the rotator's lease would block the rotation.
  # Nor must it create API keys or delete the records of tables. It may write and delete other
  # items, such as those of alerts and roll-ups.
  dynamic "statement" {
    for_each = each.key == "router" ? {
      PutItem        = ["KEYS", "LEASE"]
      DeleteItem     = ["KEYS", "LEASE", "TABLES"]
      BatchWriteItem = ["KEYS", "LEASE", "TABLES"]
    } : {}
    content {
      sid       = "Registry${statement.key}"
      actions   = ["dynamodb:${statement.key}"]
      resources = [local.registry]
      condition {
        test     = "ForAllValues:StringNotEquals"
        variable = "dynamodb:LeadingKeys"
        values   = statement.value
      }
    }
  }

  dynamic "statement" {
    for_each = length(each.value.anything) > 0 ? [each.value.anything] : []
    content {
      sid       = "Account"
      actions   = statement.value
      resources = ["*"]
    }
  }

  dynamic "statement" {
    for_each = length(var.kms_key_arns) > 0 ? [var.kms_key_arns] : []
    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
      resources = statement.value
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["dynamodb.${data.aws_region.current.region}.amazonaws.com"]
      }
    }
  }

  dynamic "statement" {
    for_each = length(var.kms_key_arns) > 0 && each.key == "rotator" ? [var.kms_key_arns] : []
    content {
      sid       = "Grants"
      actions   = ["kms:CreateGrant"]
      resources = statement.value
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["dynamodb.${data.aws_region.current.region}.amazonaws.com"]
      }
      condition {
        test     = "Bool"
        variable = "kms:GrantIsForAWSResource"
        values   = ["true"]
      }
    }
  }

  statement {
    sid    = "NotTheRegistryItself"
    effect = "Deny"
    actions = [
      "dynamodb:CreateTable", "dynamodb:DeleteResourcePolicy", "dynamodb:DeleteTable", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert",
      "dynamodb:PartiQLUpdate", "dynamodb:PutResourcePolicy", "dynamodb:RestoreTableFromBackup", "dynamodb:RestoreTableToPointInTime",
      "dynamodb:TagResource", "dynamodb:UntagResource", "dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive",
    ]
    resources = [local.registry, local.indexes]
  }

  statement {
    sid       = "NotTheTemplate"
    effect    = "Deny"
    actions   = ["dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [local.registry]
    condition {
      test     = "ForAnyValue:StringEquals"
      variable = "dynamodb:LeadingKeys"
      values   = ["TEMPLATE"]
    }
  }
}

resource "aws_iam_policy" "this" {
  for_each = local.actions

  name        = "${var.name}-${each.key}"
  description = "Permissions of Varve's ${each.key} on DynamoDB."
  policy      = data.aws_iam_policy_document.this[each.key].json
  tags        = var.tags
}

data "aws_iam_policy_document" "consumer" {
  count = local.reads_sources ? 1 : 0

  dynamic "statement" {
    for_each = length(var.sources.streams) > 0 ? [var.sources.streams] : []
    content {
      sid       = "Streams"
      actions   = ["kinesis:GetRecords", "kinesis:GetShardIterator", "kinesis:ListShards"]
      resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(var.sources.queues) > 0 ? [var.sources.queues] : []
    content {
      sid       = "Queues"
      actions   = ["sqs:DeleteMessage", "sqs:ReceiveMessage"]
      resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(var.sources.keys) > 0 ? [var.sources.keys] : []
    content {
      sid       = "SourceKeys"
      actions   = ["kms:Decrypt"]
      resources = statement.value
    }
  }
}

resource "aws_iam_policy" "consumer" {
  count = local.reads_sources ? 1 : 0

  name        = "${var.name}-consumer"
  description = "Permissions of Varve to read streams and queues."
  policy      = data.aws_iam_policy_document.consumer[0].json
  tags        = var.tags
}

data "aws_iam_policy_document" "notifier" {
  count = length(var.topics) > 0 ? 1 : 0

  statement {
    sid       = "Topics"
    actions   = ["sns:Publish"]
    resources = var.topics
  }
}

resource "aws_iam_policy" "notifier" {
  count = length(var.topics) > 0 ? 1 : 0

  name        = "${var.name}-notifier"
  description = "Permissions of Varve to publish messages about alerts."
  policy      = data.aws_iam_policy_document.notifier[0].json
  tags        = var.tags
}

data "aws_iam_policy_document" "eraser" {
  count = var.erasure ? 1 : 0

  statement {
    sid       = "Readings"
    actions   = ["dynamodb:DeleteItem"]
    resources = local.tables
  }
}

resource "aws_iam_policy" "eraser" {
  count = var.erasure ? 1 : 0

  name        = "${var.name}-eraser"
  description = "Permission of Varve to delete readings on purpose. It is used beside the other policies."
  policy      = data.aws_iam_policy_document.eraser[0].json
  tags        = var.tags
}

resource "aws_iam_policy" "archiver" {
  count = var.archive == null ? 0 : 1

  name        = "${var.name}-archiver"
  description = "Permissions of Varve to write and read archives. It is used beside the other policies."
  policy      = var.archive.policy
  tags        = var.tags
}

data "aws_iam_policy_document" "trust" {
  for_each = var.roles

  statement {
    actions = ["sts:AssumeRole"]
    dynamic "principals" {
      for_each = { for type, names in { Service = each.value.services, AWS = each.value.principals } : type => names if length(names) > 0 }
      content {
        type        = principals.key
        identifiers = principals.value
      }
    }
  }
}

resource "aws_iam_role" "this" {
  for_each = var.roles

  name               = "${var.name}-${each.key}"
  description        = "Varve: ${join(", ", sort(tolist(each.value.policies)))}."
  assume_role_policy = data.aws_iam_policy_document.trust[each.key].json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = local.roles

  role       = aws_iam_role.this[each.value.role].name
  policy_arn = aws_iam_policy.this[each.value.policy].arn
}
