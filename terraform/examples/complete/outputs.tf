output "service_config" {
  description = "Varve's configuration in the service."
  value       = module.varve.service_config
}

output "service_name" {
  description = "Name of the ECS service."
  value       = module.varve.service_name
}

output "archive_bucket" {
  description = "Name of the bucket for archives."
  value       = module.varve.archive_bucket
}

output "topic_arn" {
  description = "ARN of the SNS topic for alarms."
  value       = module.varve.topic_arn
}
