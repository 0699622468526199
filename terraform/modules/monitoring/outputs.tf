output "topic_arn" {
  description = "ARN of the SNS topic for alarms."
  value       = local.topic
}

output "alarm_names" {
  description = "Names of the alarms."
  value = sort(concat(
    [
      aws_cloudwatch_metric_alarm.rejected_share.alarm_name, aws_cloudwatch_metric_alarm.rollup_backlog.alarm_name,
      aws_cloudwatch_metric_alarm.rotation_heartbeat.alarm_name, aws_cloudwatch_metric_alarm.system_errors.alarm_name,
      aws_cloudwatch_metric_alarm.tables_ready_ahead.alarm_name, aws_cloudwatch_metric_alarm.throttling.alarm_name,
    ],
    aws_cloudwatch_metric_alarm.deliveries_failed[*].alarm_name, aws_cloudwatch_metric_alarm.delivery_age[*].alarm_name,
    [for alarm in aws_cloudwatch_metric_alarm.region : alarm.alarm_name]
  ))
}

output "dashboard_name" {
  description = "Name of the dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}
