# A stream that devices may write to while Varve is away. What reads it sends
# readings to Varve over HTTP; sending them again is harmless.

resource "aws_kinesis_stream" "this" {
  name             = var.name
  shard_count      = var.shards
  retention_period = var.retention_hours
  encryption_type  = "KMS"
  kms_key_id       = var.kms_key_id
  tags             = var.tags

  stream_mode_details {
    stream_mode = var.shards == null ? "ON_DEMAND" : "PROVISIONED"
  }
}
