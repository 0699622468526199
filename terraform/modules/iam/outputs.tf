output "policy_arns" {
  description = "ARNs of the policies: router, rotator and reader; consumer, if Varve reads streams or queues; notifier, if it publishes to topics; eraser, if it may delete readings; archiver, if it writes archives."
  value = merge(
    { for name, policy in aws_iam_policy.this : name => policy.arn },
    local.reads_sources ? { consumer = aws_iam_policy.consumer[0].arn } : {},
    length(var.topics) > 0 ? { notifier = aws_iam_policy.notifier[0].arn } : {},
    var.erasure ? { eraser = aws_iam_policy.eraser[0].arn } : {},
    var.archive == null ? {} : { archiver = aws_iam_policy.archiver[0].arn }
  )
}

output "policies" {
  description = "The policy documents in JSON: router, rotator and reader."
  value       = { for name, document in data.aws_iam_policy_document.this : name => document.json }
}

output "role_arns" {
  description = "ARNs of the roles, by the last part of their name."
  value       = { for name, role in aws_iam_role.this : name => role.arn }
}
