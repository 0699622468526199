variable "name" {
  description = "Beginning of the names of the topic, the alarms and the dashboard."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,100}$", var.name))
    error_message = "The name has 1 to 100 letters, digits, _ or -."
  }
}

variable "deployment" {
  description = "Value of the dimension Deployment in Varve's metrics: the setting tables.prefix."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{1,64}$", var.deployment))
    error_message = "A prefix has 1 to 64 letters, digits or -."
  }
}

variable "registry_name" {
  description = "Name of the registry's table, for alarms on throttling and system errors."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.registry_name))
    error_message = "A table's name has 3 to 255 letters, digits, _ . or -."
  }
}

variable "topic_arn" {
  description = "ARN of an SNS topic for the alarms. If null, a topic is created."
  type        = string
  default     = null

  validation {
    condition     = var.topic_arn == null ? true : can(regex("^arn:[^:]+:sns:[^:]+:[0-9]{12}:", var.topic_arn))
    error_message = "A topic is an ARN of the form arn:…:sns:…."
  }
}

variable "topic_kms_key_id" {
  description = "KMS key that encrypts the created topic; its policy must allow CloudWatch to use it. If null, the topic is not encrypted."
  type        = string
  default     = null

  validation {
    condition     = var.topic_kms_key_id == null ? true : length(var.topic_kms_key_id) > 0 && var.topic_kms_key_id != "alias/aws/sns"
    error_message = "Name your own key: CloudWatch may not use alias/aws/sns, and alarms would be lost."
  }
}

variable "emails" {
  description = "E-mail addresses to which alarms are sent. The owner of an address must first confirm it in an e-mail of AWS. Requires that topic_arn is null."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for address in var.emails : can(regex("^[^@ ]+@[^@ ]+$", address))])
    error_message = "An address has the form ops@example.com."
  }

  validation {
    condition     = var.topic_arn == null || length(var.emails) == 0
    error_message = "Addresses in emails subscribe to the created topic: subscribe them to your topic, or leave topic_arn out."
  }
}

variable "heartbeat_period" {
  description = "Seconds in which at least one rotation must succeed, an hour or more. The alarm fires after three such periods without success."
  type        = number
  default     = 3600
  nullable    = false

  validation {
    condition     = var.heartbeat_period >= 3600 && var.heartbeat_period <= 86400 && var.heartbeat_period % 3600 == 0
    error_message = "The period is 3600 to 86400 seconds, in whole hours: the interval of retention.schedule, but at least an hour."
  }
}

variable "rejected_share" {
  description = "Alarm threshold for the share of rejected readings, 0 to 1."
  type        = number
  default     = 0.05
  nullable    = false

  validation {
    condition     = var.rejected_share > 0 && var.rejected_share < 1
    error_message = "The share lies between 0 and 1, such as 0.05 for 5 %."
  }
}

variable "rollup_backlog" {
  description = "Alarm threshold for the number of hours that wait for their roll-up."
  type        = number
  default     = 10000
  nullable    = false

  validation {
    condition     = var.rollup_backlog >= 1
    error_message = "The backlog is at least 1."
  }
}

variable "deliveries" {
  description = "Whether alarms watch the delivery of messages about alerts. Use true if notifiers are configured."
  type        = bool
  default     = false
  nullable    = false
}

variable "delivery_age" {
  description = "Alarm threshold for the age in seconds of the oldest message about an alert that is not delivered."
  type        = number
  default     = 600
  nullable    = false

  validation {
    condition     = var.delivery_age >= 60
    error_message = "The age is at least 60 seconds."
  }
}

variable "watch_region" {
  description = <<-EOT
    Whether alarms also watch throttling and system errors of all tables of the account in the region. Time tables change each month, and
    CloudWatch cannot watch tables by prefix. Use false if other tables there may be throttled.
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
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
