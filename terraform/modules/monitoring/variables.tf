variable "name" {
  description = "What the names of the topic, the alarms and the dashboard begin with."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,100}$", var.name))
    error_message = "The name has 1 to 100 letters, digits, _ or -."
  }
}

variable "deployment" {
  description = "The dimension Deployment of Varve's metrics: its setting tables.prefix."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{1,64}$", var.deployment))
    error_message = "A prefix has 1 to 64 letters, digits or -."
  }
}

variable "registry_name" {
  description = "Name of the registry's table, which is watched for throttling and system errors."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.registry_name))
    error_message = "A table is named with 3 to 255 letters, digits, _ . or -."
  }
}

variable "topic_arn" {
  description = "ARN of an SNS topic for the alarms; null: a topic of their own is made."
  type        = string
  default     = null

  validation {
    condition     = var.topic_arn == null ? true : can(regex("^arn:[^:]+:sns:[^:]+:[0-9]{12}:", var.topic_arn))
    error_message = "A topic is given by its ARN, arn:…:sns:…."
  }
}

variable "topic_kms_key_id" {
  description = "KMS key that encrypts the topic that is made; its policy must let CloudWatch use it. Null: not encrypted."
  type        = string
  default     = null

  validation {
    condition     = var.topic_kms_key_id == null ? true : length(var.topic_kms_key_id) > 0 && var.topic_kms_key_id != "alias/aws/sns"
    error_message = "Name a key of yours: CloudWatch may not use alias/aws/sns, and its alarms would be lost."
  }
}

variable "emails" {
  description = "Addresses that the alarms are mailed to; each gets a mail to confirm first. Not with topic_arn."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for address in var.emails : can(regex("^[^@ ]+@[^@ ]+$", address))])
    error_message = "An address looks like ops@example.com."
  }
}

variable "heartbeat_period" {
  description = "Seconds in which at least one rotation must succeed, an hour or more; the alarm comes after three of them without one."
  type        = number
  default     = 3600
  nullable    = false

  validation {
    condition     = var.heartbeat_period >= 3600 && var.heartbeat_period <= 86400 && var.heartbeat_period % 3600 == 0
    error_message = "The period is 3600 to 86400 seconds, in whole hours: as often as retention.schedule says, and an hour at the least."
  }
}

variable "rejected_share" {
  description = "Share of readings, 0 to 1, above which it is an alarm that they are rejected."
  type        = number
  default     = 0.05
  nullable    = false

  validation {
    condition     = var.rejected_share > 0 && var.rejected_share < 1
    error_message = "The share lies between 0 and 1, as 0.05 for 5 %."
  }
}

variable "rollup_backlog" {
  description = "Hours that wait for their roll-up above which it is an alarm."
  type        = number
  default     = 1000
  nullable    = false

  validation {
    condition     = var.rollup_backlog >= 1
    error_message = "The backlog is at least 1."
  }
}

variable "watch_region" {
  description = <<-EOT
    Whether throttling and system errors are also watched on all tables of the account in the region: time tables come and go, and
    CloudWatch cannot watch those of one prefix. False if others' tables there may be throttled.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "tags" {
  description = "Tags of the topic and the alarms."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are Amazon's."
  }
}
