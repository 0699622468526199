# Alarms on Varve's metrics and on DynamoDB's metrics, an SNS topic for the alarms unless topic_arn
# names one, and a dashboard.
# Varve's metrics are in the namespace Varve. CloudWatch takes them from Varve's logs if
# metrics.cloudwatch is on.

data "aws_region" "current" {}

locals {
  varve     = "Varve"
  dynamodb  = "AWS/DynamoDB"
  dimension = { Deployment = var.deployment }
  topic     = var.topic_arn != null ? var.topic_arn : aws_sns_topic.alarms[0].arn

  throttles = ["ReadThrottleEvents", "WriteThrottleEvents"]
  indexes   = ["", "gsi1", "gsi2"]
  # DynamoDB counts system errors separately for each operation.
  operations = ["BatchGetItem", "BatchWriteItem", "DeleteItem", "PutItem", "Query"]
  region_alarms = var.watch_region ? {
    throttling    = { metric = "ThrottledRequests", text = "DynamoDB throttles requests to tables of this account in the region." }
    system-errors = { metric = "SystemErrors", text = "DynamoDB answers some requests to tables of this account in the region with system errors." }
  } : {}
}

resource "aws_sns_topic" "alarms" {
  count = var.topic_arn == null ? 1 : 0

  name              = "${var.name}-alarms"
  kms_master_key_id = var.topic_kms_key_id
  tags              = var.tags
}

resource "aws_sns_topic_subscription" "email" {
  for_each = var.emails

  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = each.value
}

resource "aws_cloudwatch_metric_alarm" "rotation_heartbeat" {
  alarm_name          = "${var.name}-rotation-heartbeat"
  alarm_description   = "No rotation has succeeded for three periods: tables of the next month are not created, and expired tables are not dropped. Search the log of varve serve for rotation failed."
  namespace           = local.varve
  metric_name         = "RotationSuccess"
  dimensions          = local.dimension
  statistic           = "Sum"
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  period              = var.heartbeat_period
  evaluation_periods  = 3
  treat_missing_data  = "breaching" # a rotator that is down sends no data
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "tables_ready_ahead" {
  alarm_name          = "${var.name}-tables-ready-ahead"
  alarm_description   = "Tables of the next month are missing after rotations. Search the log of varve serve for rotation step, and run varve doctor for quotas and permissions."
  namespace           = local.varve
  metric_name         = "TablesReadyAhead"
  dimensions          = local.dimension
  statistic           = "Maximum" # one rotation that has created all these tables is enough
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  period              = var.heartbeat_period
  evaluation_periods  = 2
  treat_missing_data  = "ignore" # the alarm rotation_heartbeat covers missing rotations
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "rejected_share" {
  alarm_name          = "${var.name}-rejected-share"
  alarm_description   = "Too many readings are rejected. The metric varve_readings_rejected_total has their codes."
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.rejected_share
  evaluation_periods  = 3
  treat_missing_data  = "notBreaching" # no readings were sent
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags

  metric_query {
    id          = "share"
    label       = "share of rejected readings"
    expression  = "IF(readings > 0, rejected / readings, 0)"
    return_data = true
  }
  metric_query {
    id = "readings"
    metric {
      namespace   = local.varve
      metric_name = "Readings"
      dimensions  = local.dimension
      stat        = "Sum"
      period      = 300
    }
  }
  metric_query {
    id = "rejected"
    metric {
      namespace   = local.varve
      metric_name = "ReadingsRejected"
      dimensions  = local.dimension
      stat        = "Sum"
      period      = 300
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "rollup_backlog" {
  alarm_name          = "${var.name}-rollup-backlog"
  alarm_description   = "Dirty hours are recounted more slowly than readings arrive. Roll-ups stay exact, but reads of them become slower."
  namespace           = local.varve
  metric_name         = "RollupBacklog"
  dimensions          = local.dimension
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.rollup_backlog
  period              = 300
  evaluation_periods  = 6
  treat_missing_data  = "notBreaching" # the alarm rotation_heartbeat covers processes that are down
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "deliveries_failed" {
  count = var.deliveries ? 1 : 0

  alarm_name          = "${var.name}-deliveries-failed"
  alarm_description   = "A message about an alert was not delivered, and is not retried any more. Run varve alerts deliveries --failed, and inform its receiver."
  namespace           = local.varve
  metric_name         = "DeliveriesFailed"
  dimensions          = local.dimension
  statistic           = "Sum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  period              = 300
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching" # the alarm rotation_heartbeat covers processes that are down
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "delivery_age" {
  count = var.deliveries ? 1 : 0

  alarm_name          = "${var.name}-delivery-age"
  alarm_description   = "A notifier does not accept messages about alerts, which are still retried. Run varve alerts deliveries --pending."
  namespace           = local.varve
  metric_name         = "DeliveryAge"
  dimensions          = local.dimension
  statistic           = "Maximum" # only the process that delivers messages knows the age
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.delivery_age
  period              = 300
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "throttling" {
  alarm_name          = "${var.name}-throttling"
  alarm_description   = "DynamoDB throttles requests to the registry."
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 5
  datapoints_to_alarm = 3 # requests are retried, so one or two throttled minutes are harmless
  treat_missing_data  = "notBreaching"
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags

  metric_query {
    id          = "events"
    label       = "throttled requests"
    expression  = "SUM(METRICS())"
    return_data = true
  }
  dynamic "metric_query" {
    for_each = { for pair in setproduct(local.throttles, local.indexes) : "${lower(pair[0])}_${coalesce(pair[1], "table")}" => pair }
    content {
      id = metric_query.key
      metric {
        namespace   = local.dynamodb
        metric_name = metric_query.value[0]
        dimensions = merge(
          { TableName = var.registry_name },
          { for name, value in { GlobalSecondaryIndexName = metric_query.value[1] } : name => value if value != "" }
        )
        stat   = "Sum"
        period = 60
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "system_errors" {
  alarm_name          = "${var.name}-system-errors"
  alarm_description   = "DynamoDB answers requests to the registry with system errors."
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags

  metric_query {
    id          = "errors"
    label       = "system errors"
    expression  = "SUM(METRICS())"
    return_data = true
  }
  dynamic "metric_query" {
    for_each = toset(local.operations)
    content {
      id = lower(metric_query.value)
      metric {
        namespace   = local.dynamodb
        metric_name = "SystemErrors"
        dimensions  = { TableName = var.registry_name, Operation = metric_query.value }
        stat        = "Sum"
        period      = 60
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "region" {
  for_each = local.region_alarms

  alarm_name          = "${var.name}-region-${each.key}"
  alarm_description   = each.value.text
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = [local.topic]
  ok_actions          = [local.topic]
  tags                = var.tags

  metric_query {
    id          = "all"
    label       = each.value.metric
    expression  = "SELECT SUM(${each.value.metric}) FROM SCHEMA(\"${local.dynamodb}\", Operation, TableName)"
    period      = 60
    return_data = true
  }
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  dashboard_body = jsonencode({
    widgets = [for i, w in local.widgets : {
      type   = "metric"
      x      = i % 2 * 12
      y      = floor(i / 2) * 6
      width  = 12
      height = 6
      properties = {
        title   = w.title
        region  = data.aws_region.current.region
        stat    = w.stat
        period  = w.period
        view    = "timeSeries"
        metrics = w.metrics
      }
    }]
  })
}

locals {
  # The words that the names of time tables contain. Quotes would require equal names.
  tables = "${replace(var.deployment, "-", " ")} NOT \"${var.registry_name}\""
  widgets = [
    {
      title   = "Successful rotations, and share of next month's tables"
      stat    = "Maximum"
      period  = var.heartbeat_period
      metrics = [for m in ["RotationSuccess", "TablesReadyAhead"] : [local.varve, m, "Deployment", var.deployment]]
    },
    {
      title   = "Readings, and rejected readings"
      stat    = "Sum"
      period  = 300
      metrics = [for m in ["Readings", "ReadingsRejected"] : [local.varve, m, "Deployment", var.deployment]]
    },
    {
      title   = "Hours waiting for roll-ups"
      stat    = "Maximum"
      period  = 300
      metrics = [[local.varve, "RollupBacklog", "Deployment", var.deployment]]
    },
    {
      title   = "Messages about alerts: failed, and age of the oldest pending one"
      stat    = "Maximum"
      period  = 300
      metrics = [for m in ["DeliveriesFailed", "DeliveryAge"] : [local.varve, m, "Deployment", var.deployment]]
    },
    {
      title   = "Registry: throttled requests"
      stat    = "Sum"
      period  = 300
      metrics = [for m in local.throttles : [local.dynamodb, m, "TableName", var.registry_name]]
    },
    {
      title  = "Time tables: write units"
      stat   = "Sum"
      period = 300
      metrics = [[{
        expression = "SEARCH('{${local.dynamodb},TableName} MetricName=\"ConsumedWriteCapacityUnits\" ${local.tables}', 'Sum', 300)"
        label      = ""
      }]]
    },
    {
      title  = "Time tables: read units"
      stat   = "Sum"
      period = 300
      metrics = [[{
        expression = "SEARCH('{${local.dynamodb},TableName} MetricName=\"ConsumedReadCapacityUnits\" ${local.tables}', 'Sum', 300)"
        label      = ""
      }]]
    },
  ]
}
