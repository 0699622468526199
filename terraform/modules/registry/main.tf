# The registry, which stores all of Varve's data except readings, and the template from which the
# rotator creates time tables. The time tables change every month, so the rotator manages them.

locals {
  # Unset values are omitted: Varve uses the defaults for them or, in a class, the values outside of
  # classes.
  settings = {
    for name, s in merge({ "" = var.template }, var.template.classes) : name => {
      for field, value in {
        billing                = s.billing
        capacity               = length(s.capacity) > 0 ? s.capacity : null
        capacity_max           = length(s.capacity_max) > 0 ? s.capacity_max : null
        table_class            = length(s.table_class) > 0 ? s.table_class : null
        kms_key                = s.kms_key
        point_in_time_recovery = s.point_in_time_recovery
        deletion_protection    = s.deletion_protection
        tags                   = length(s.tags) > 0 ? s.tags : null
      } : field => value if value != null
    }
  }
  classes  = { for name, s in local.settings : name => s if name != "" }
  template = merge(local.settings[""], { for field, value in { classes = local.classes } : field => value if length(value) > 0 })
}

resource "aws_dynamodb_table" "registry" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = var.deletion_protection
  tags                        = merge(var.tags, { "varve:owner" = var.name })

  dynamic "attribute" {
    for_each = toset(["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"])
    content {
      name = attribute.value
      type = "S"
    }
  }

  dynamic "global_secondary_index" {
    for_each = toset(["gsi1", "gsi2"])
    content {
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
    }
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  dynamic "server_side_encryption" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }
}

resource "aws_dynamodb_table_item" "template" {
  table_name = aws_dynamodb_table.registry.name
  hash_key   = aws_dynamodb_table.registry.hash_key
  range_key  = aws_dynamodb_table.registry.range_key
  item = jsonencode({
    pk       = { S = "TEMPLATE" }
    sk       = { S = "TABLES" }
    template = { S = jsonencode(local.template) }
  })
}
