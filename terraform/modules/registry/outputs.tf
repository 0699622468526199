output "name" {
  description = "Name of the registry's table."
  value       = aws_dynamodb_table.registry.name
}

output "arn" {
  description = "ARN of the registry's table."
  value       = aws_dynamodb_table.registry.arn
}

output "template" {
  description = "The table template as the rotator reads it, JSON."
  value       = jsonencode(local.template)
}
