variable "name" {
  description = "Name of the stream."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{1,128}$", var.name))
    error_message = "A stream's name has 1 to 128 letters, digits, _ . or -."
  }
}

variable "shards" {
  description = "Number of shards. If null, the stream is on demand."
  type        = number
  default     = null

  validation {
    condition     = var.shards == null ? true : var.shards >= 1 && floor(var.shards) == var.shards
    error_message = "The number of shards must be whole and at least 1."
  }
}

variable "retention_hours" {
  description = "Hours for which the stream stores records. A consumer can be down for that long."
  type        = number
  default     = 168
  nullable    = false

  validation {
    condition     = var.retention_hours >= 24 && var.retention_hours <= 8760
    error_message = "The setting retention_hours must be 24 to 8760."
  }
}

variable "kms_key_id" {
  description = "KMS key that encrypts records."
  type        = string
  default     = "alias/aws/kinesis"
  nullable    = false

  validation {
    condition     = length(var.kms_key_id) > 0
    error_message = "A key is required, because records are always encrypted."
  }
}

variable "tags" {
  description = "Tags of the stream."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
