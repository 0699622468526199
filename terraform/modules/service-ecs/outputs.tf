output "cluster_arn" {
  description = "ARN of the cluster."
  value       = local.cluster
}

output "service_name" {
  description = "Name of the service."
  value       = aws_ecs_service.this.name
}

output "task_role_arn" {
  description = "ARN of the role of Varve's tasks."
  value       = aws_iam_role.task.arn
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.this.name
}
