output "name" {
  description = "Name of the stream."
  value       = aws_kinesis_stream.this.name
}

output "arn" {
  description = "ARN of the stream, known before the stream exists."
  value       = local.arn
}

output "rule_arn" {
  description = "ARN of the rule of AWS IoT Core; null without a rule."
  value       = one(aws_iot_topic_rule.this[*].arn)
}
