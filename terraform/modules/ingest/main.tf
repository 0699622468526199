# A Kinesis stream to which devices can write while Varve is down. No code of Varve reads it yet.
# You need a consumer that sends its records to Varve over HTTP. It is safe to send a record
# several times.

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
