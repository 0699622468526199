output "service_config" {
  description = "Varve's configuration: terraform output -json service_config > varve.json, varve serve --config varve.json."
  value       = local.config
}

output "settings" {
  description = "Varve's settings by key, for varve serve --set key=value."
  value       = local.settings
}

output "registry" {
  description = "Name and ARN of the registry's table."
  value       = { name = module.registry.name, arn = module.registry.arn }
}

output "template" {
  description = "The table template in JSON, as the rotator reads it."
  value       = module.registry.template
}

output "policy_arns" {
  description = "ARNs of the IAM policies: router, rotator and reader; consumer, if Varve reads a stream or a queue; notifier, if it publishes to a topic; eraser, if it may delete readings; archiver, if it writes archives."
  value       = var.policies ? module.iam[0].policy_arns : {}
}

output "role_arns" {
  description = "ARNs of the roles."
  value       = var.policies ? module.iam[0].role_arns : {}
}

output "topic_arn" {
  description = "ARN of the SNS topic for alarms; null without monitoring."
  value       = one(module.monitoring[*].topic_arn)
}

output "archive_policy" {
  description = "Policy in JSON for a role that writes archives; null without archive."
  value       = one(module.archive[*].policy)
}

output "archive_bucket" {
  description = "Name of the bucket for archives; null without archive."
  value       = one(module.archive[*].bucket)
}

output "ingest_stream" {
  description = "Name of the Kinesis stream; null without ingest."
  value       = one(module.ingest[*].name)
}

output "service_name" {
  description = "Name of the ECS service; null without service."
  value       = one(module.service[*].service_name)
}
