variable "name" {
  description = "Beginning of the names of policies and roles."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9+=,.@_-]{1,50}$", var.name))
    error_message = "The name has 1 to 50 letters, digits or + = , . @ _ -."
  }
}

variable "registry_name" {
  description = "Name of the registry's table."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.registry_name)) && !can(regex("_.*_.*_.*_.{4}$", var.registry_name))
    error_message = "A registry's name has 3 to 255 letters, digits, _ . or -, and not the form of a time table's name."
  }
}

variable "table_prefixes" {
  description = "Prefixes of time tables: the deployment's prefix, and <prefix>-<class> for each other retention class."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.table_prefixes) > 0 && alltrue([for p in var.table_prefixes : can(regex("^[A-Za-z0-9-]{1,64}$", p))])
    error_message = "At least one prefix is required, and each has 1 to 64 letters, digits or -."
  }
}

variable "kms_key_arns" {
  description = "ARNs of the KMS keys that encrypt the registry and time tables, if they are not AWS's own."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.kms_key_arns : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", arn))])
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}

variable "sources" {
  description = "ARNs of the Kinesis streams and the SQS queues that Varve reads, and of the KMS keys that encrypt them, if they are not AWS's own."
  type = object({
    streams = optional(list(string), [])
    queues  = optional(list(string), [])
    keys    = optional(list(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for arn in var.sources.streams : can(regex("^arn:[^:]+:kinesis:[^:]+:[^:*]+:stream/", arn))])
    error_message = "A stream is an ARN of the form arn:…:kinesis:…:stream/…."
  }
  validation {
    condition     = alltrue([for arn in var.sources.queues : can(regex("^arn:[^:]+:sqs:[^:]+:[0-9]{12}:[^:*]+$", arn))])
    error_message = "A queue is an ARN of the form arn:…:sqs:…."
  }
  validation {
    condition     = alltrue([for arn in var.sources.keys : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", arn))])
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}

variable "topics" {
  description = "ARNs of the topics of SNS to which notifiers publish messages about alerts."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.topics : can(regex("^arn:[^:]+:sns:[^:]+:[0-9]{12}:[^:*]+$", arn))])
    error_message = "A topic is an ARN of the form arn:…:sns:…."
  }
}

variable "erasure" {
  description = "Whether Varve may delete the readings of a device on purpose, as varve devices erase does. If false, no policy allows the deletion of single readings."
  type        = bool
  default     = false
  nullable    = false
}

variable "archive" {
  description = "The policy in JSON with which Varve writes archives: the output policy of the module archive. If null, no policy allows that."
  type        = object({ policy = string })
  default     = null

  validation {
    condition     = var.archive == null ? true : can(jsondecode(var.archive.policy).Statement)
    error_message = "The policy is a document in JSON with statements."
  }
}

variable "roles" {
  description = "Roles to create, by the last part of their name. Each has policies (router, rotator, reader), and services or principals (ARNs) that may assume it."
  type = map(object({
    policies   = set(string)
    services   = optional(set(string), [])
    principals = optional(set(string), [])
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for r in var.roles : length(r.policies) > 0 && alltrue([for p in r.policies : contains(["router", "rotator", "reader"], p)])])
    error_message = "A role has one or more of the policies router, rotator and reader."
  }
  validation {
    condition     = alltrue([for r in var.roles : length(r.services) + length(r.principals) > 0])
    error_message = "A role needs services or principals that may assume it."
  }
  validation {
    condition     = alltrue(flatten([for r in var.roles : [for p in r.principals : p != "*"]]))
    error_message = "A role must not be open to all accounts: name principals by their ARNs."
  }
}

variable "tags" {
  description = "Tags of policies and roles."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
