variable "region" {
  description = "AWS region."
  type        = string
  default     = "eu-central-1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+(-[a-z]+)+-[0-9]+$", var.region))
    error_message = "A region has the form eu-central-1."
  }
}

variable "prefix" {
  description = "Prefix of all table names."
  type        = string
  default     = "varve"
  nullable    = false

  validation {
    condition     = length(var.prefix) > 0
    error_message = "The prefix must not be empty."
  }
}

variable "emails" {
  description = "E-mail addresses to which alarms are sent."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.emails) > 0
    error_message = "At least one address is required."
  }
}

variable "image" {
  description = "Container image of Varve."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.image) > 0
    error_message = "An image is required."
  }
}

variable "target_group_arn" {
  description = "ARN of the load balancer's target group. It must have port 8278 and targets by IP address."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.target_group_arn) > 0
    error_message = "A target group is required."
  }
}

variable "subnet_ids" {
  description = "Subnets of the tasks."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) > 0
    error_message = "At least one subnet is required."
  }
}

variable "security_group_ids" {
  description = "Security groups of the tasks."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.security_group_ids) > 0
    error_message = "At least one security group is required."
  }
}

variable "kms_key_arn" {
  description = <<-EOT
    ARN of the KMS key that encrypts tables and archives. Create it elsewhere, because time tables outlive `terraform destroy` and cannot be read
    without the key.
  EOT
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key_arn))
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}
