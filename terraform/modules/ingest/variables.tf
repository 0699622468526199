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
  description = "Hours for which the stream stores records. A consumer that is down for longer misses records."
  type        = number
  default     = 168
  nullable    = false

  validation {
    condition     = var.retention_hours >= 24 && var.retention_hours <= 8760
    error_message = "The setting retention_hours must be 24 to 8760."
  }
}

variable "kms_key_id" {
  description = "ARN of the KMS key that encrypts records, or alias/aws/kinesis for AWS's own key. Policies need the ARN, so other aliases are refused."
  type        = string
  default     = "alias/aws/kinesis"
  nullable    = false

  validation {
    condition     = var.kms_key_id == "alias/aws/kinesis" || can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key_id))
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…, or alias/aws/kinesis."
  }
}

variable "rule" {
  description = "A rule of AWS IoT Core that writes messages to the stream. The result of `sql` must be a reading. If null, no rule is created."
  type = object({
    sql           = string
    partition_key = optional(string, "$${newuuid()}")
    enabled       = optional(bool, true)
  })
  default = null

  validation {
    condition     = var.rule == null ? true : can(regex("(?i)^\\s*SELECT\\s.*\\sFROM\\s+'", replace(var.rule.sql, "\n", " ")))
    error_message = "A rule is a statement of the form SELECT … FROM 'topic'."
  }
  validation {
    condition     = var.rule == null ? true : length(var.rule.partition_key) > 0
    error_message = "Messages need a partition key: leave partition_key out to spread them over all shards."
  }
}

variable "tags" {
  description = "Tags of the stream, the rule and its role."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
