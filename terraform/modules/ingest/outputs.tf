output "name" {
  description = "Name of the stream."
  value       = aws_kinesis_stream.this.name
}

output "arn" {
  description = "ARN of the stream."
  value       = aws_kinesis_stream.this.arn
}
