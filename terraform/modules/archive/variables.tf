variable "bucket" {
  description = "Name of the bucket."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "A bucket is named with 3 to 63 small letters, digits, . or -."
  }
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts objects; null: S3's own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key_arn))
    error_message = "A KMS key is given by its ARN, arn:…:kms:…:key/…."
  }
}

variable "glacier_after_days" {
  description = "Days after which objects go to Glacier Instant Retrieval; null: never."
  type        = number
  default     = 90

  validation {
    condition     = var.glacier_after_days == null ? true : var.glacier_after_days >= 1 && floor(var.glacier_after_days) == var.glacier_after_days
    error_message = "It takes whole days, 1 or more."
  }
}

variable "expire_after_days" {
  description = "Days after which objects are deleted; null: never."
  type        = number
  default     = null

  validation {
    condition     = var.expire_after_days == null ? true : var.expire_after_days >= 1 && floor(var.expire_after_days) == var.expire_after_days
    error_message = "It takes whole days, 1 or more."
  }
  validation {
    condition     = var.expire_after_days == null || var.glacier_after_days == null ? true : var.expire_after_days > var.glacier_after_days
    error_message = "Objects must go to Glacier before they are deleted."
  }
}

variable "tags" {
  description = "Tags of the bucket."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are Amazon's."
  }
}
