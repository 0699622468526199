variable "bucket" {
  description = "Name of the bucket."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, . or -."
  }
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts objects. If null, a key of S3 is used."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key_arn))
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}

variable "glacier_after_days" {
  description = "Days after which objects are moved to Glacier Instant Retrieval. If null, they are not moved."
  type        = number
  default     = 90

  validation {
    condition     = var.glacier_after_days == null ? true : var.glacier_after_days >= 1 && floor(var.glacier_after_days) == var.glacier_after_days
    error_message = "The number of days must be whole and at least 1."
  }
}

variable "expire_after_days" {
  description = "Days after which S3 hides all objects, even of archives on hold; it deletes them 30 days later. Prefer the setting archive.retention, which heeds holds. With both, this must be longer. If null, S3 hides none."
  type        = number
  default     = null

  validation {
    condition     = var.expire_after_days == null ? true : var.expire_after_days >= 1 && floor(var.expire_after_days) == var.expire_after_days
    error_message = "The number of days must be whole and at least 1."
  }
  validation {
    condition     = var.expire_after_days == null || var.glacier_after_days == null ? true : var.expire_after_days > var.glacier_after_days
    error_message = "The days until expiry must exceed the days until Glacier."
  }
}

variable "tags" {
  description = "Tags of the bucket."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
