output "name" {
  description = "Name of the registry's table."
  value       = aws_dynamodb_table.registry.name
}

output "arn" {
  description = "ARN of the registry's table."
  value       = aws_dynamodb_table.registry.arn
}

output "template" {
  description = "The table template in JSON, as the rotator reads it."
  value       = jsonencode(local.template)
}
