output "bucket" {
  description = "Name of the bucket."
  value       = aws_s3_bucket.this.bucket
}

output "arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.this.arn
}

output "policy" {
  description = "Policy in JSON with the permissions that Varve needs, for the role of the service."
  value       = data.aws_iam_policy_document.access.json
}
