output "policy_arns" {
  description = "ARNs of the policies: router, rotator and reader."
  value       = { for name, policy in aws_iam_policy.this : name => policy.arn }
}

output "policies" {
  description = "The policy documents in JSON: router, rotator and reader."
  value       = { for name, document in data.aws_iam_policy_document.this : name => document.json }
}

output "role_arns" {
  description = "ARNs of the roles, by the last part of their name."
  value       = { for name, role in aws_iam_role.this : name => role.arn }
}
