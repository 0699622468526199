variable "name" {
  description = "Name of the stream."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{1,128}$", var.name))
    error_message = "A stream is named with 1 to 128 letters, digits, _ . or -."
  }
}

variable "shards" {
  description = "Number of shards; null: on demand."
  type        = number
  default     = null

  validation {
    condition     = var.shards == null ? true : var.shards >= 1 && floor(var.shards) == var.shards
    error_message = "It takes whole shards, 1 or more."
  }
}

variable "retention_hours" {
  description = "Hours for which records are kept: how long a consumer may be away."
  type        = number
  default     = 168
  nullable    = false

  validation {
    condition     = var.retention_hours >= 24 && var.retention_hours <= 8760
    error_message = "Records are kept for 24 to 8760 hours."
  }
}

variable "kms_key_id" {
  description = "KMS key that encrypts records."
  type        = string
  default     = "alias/aws/kinesis"
  nullable    = false

  validation {
    condition     = length(var.kms_key_id) > 0
    error_message = "Records are always encrypted: name a key."
  }
}

variable "tags" {
  description = "Tags of the stream."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are Amazon's."
  }
}
