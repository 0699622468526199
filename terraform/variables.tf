variable "prefix" {
  description = "Prefix of all tables' names, and of the names of everything else: it tells deployments in one account apart."
  type        = string
  default     = "varve"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{1,47}$", var.prefix))
    error_message = "A prefix has 1 to 47 letters, digits or -."
  }
}

variable "registry_name" {
  description = "Name of the registry's table; null: <prefix>_registry."
  type        = string
  default     = null

  validation {
    condition     = var.registry_name == null ? true : can(regex("^[A-Za-z0-9_.-]{3,255}$", var.registry_name)) && !can(regex("_.*_.*_.*_.{4}$", var.registry_name))
    error_message = "A registry is named with 3 to 255 letters, digits, _ . or -, and not as time tables are."
  }
}

variable "classes" {
  description = "Retention classes and how long each keeps readings, as 90d, 1y or forever."
  type        = map(object({ retention = string }))
  default     = { default = { retention = "1y" } }
  nullable    = false

  validation {
    condition     = contains(keys(var.classes), "default") && alltrue([for name in keys(var.classes) : can(regex("^[A-Za-z0-9]{1,16}$", name))])
    error_message = "There is a class default, and classes are named with 1 to 16 letters and digits."
  }
  validation {
    condition     = alltrue([for c in var.classes : can(regex("^(forever|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$", c.retention)) && c.retention != ""])
    error_message = "A retention is written as 90d, 1d12h, 1y or forever."
  }
}

variable "streams" {
  description = "What is particular to streams: their class, how long they keep readings if that is shorter, and what DynamoDB's rows hold; see varve config print."
  type = map(object({
    class      = optional(string)
    retention  = optional(string)
    row_window = optional(string)
    expect     = optional(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for s in var.streams : s.class == null ? true : contains(keys(var.classes), s.class)])
    error_message = "A stream's class is one of classes."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.retention == null ? true : can(regex("^(forever|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$", s.retention)) && s.retention != ""])
    error_message = "A retention is written as 90d, 1d12h, 1y or forever."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.row_window == null ? true : can(regex("^([0-9]+(h|m|s|ms))+$", s.row_window))])
    error_message = "A row's window is written as 1ms, 10s or 1h."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.expect == null ? true : contains(["auto", "new", "existing"], s.expect)])
    error_message = "What is expected is auto, new or existing."
  }
}

variable "retention" {
  description = "How tables end: whether those that have aged out are dropped, and the settings of varve config print that begin with retention."
  type = object({
    drop      = optional(bool, false)
    grace     = optional(string)
    seal      = optional(string)
    schedule  = optional(string)
    max_drops = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for text in [var.retention.grace, var.retention.seal] : text == null ? true : can(regex("^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$", text)) && text != ""])
    error_message = "Grace and seal are written as 7d or 1h."
  }
  validation {
    condition     = var.retention.max_drops == null ? true : var.retention.max_drops >= 1 && floor(var.retention.max_drops) == var.retention.max_drops
    error_message = "A run may drop 1 table or more."
  }
}

variable "hosts" {
  description = "Names that a proxy in front calls Varve by (server.hosts); with API keys, any will do."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for host in var.hosts : can(regex("^[^/ *,]+$", host))])
    error_message = "A host looks like varve.example.com."
  }
}

variable "template" {
  description = "What the rotator makes time tables from; see the module registry."
  type = object({
    billing                = optional(string)
    capacity               = optional(map(object({ read = number, write = number })), {})
    table_class            = optional(map(string), {})
    kms_key                = optional(string)
    point_in_time_recovery = optional(bool)
    deletion_protection    = optional(bool)
    tags                   = optional(map(string), {})
    classes = optional(map(object({
      billing                = optional(string)
      capacity               = optional(map(object({ read = number, write = number })), {})
      table_class            = optional(map(string), {})
      kms_key                = optional(string)
      point_in_time_recovery = optional(bool)
      deletion_protection    = optional(bool)
      tags                   = optional(map(string), {})
    })), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.template.classes) : contains(keys(var.classes), name)])
    error_message = "The template has a class that is not one of classes."
  }
}

variable "deletion_protection" {
  description = "Whether the registry refuses to be deleted. To destroy it, apply false first."
  type        = bool
  default     = true
  nullable    = false
}

variable "point_in_time_recovery" {
  description = "Whether the registry can be restored to any second of the last 35 days."
  type        = bool
  default     = true
  nullable    = false
}

variable "registry_kms_key_arn" {
  description = "ARN of the KMS key that encrypts the registry; null: one of AWS's own."
  type        = string
  default     = null

  validation {
    condition     = var.registry_kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.registry_kms_key_arn))
    error_message = "A KMS key is given by its ARN, arn:…:kms:…:key/…."
  }
}

variable "policies" {
  description = "Whether the IAM policies are made. False against an emulator, which has none."
  type        = bool
  default     = true
  nullable    = false
}

variable "roles" {
  description = "Roles to make; see the module iam."
  type = map(object({
    policies   = set(string)
    services   = optional(set(string), [])
    principals = optional(set(string), [])
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(var.roles) == 0 || var.policies
    error_message = "Roles need the policies: set policies to true."
  }
}

variable "monitoring" {
  description = "Alarms, their topic and a dashboard; see the module monitoring. Null: none."
  type = object({
    topic_arn        = optional(string)
    topic_kms_key_id = optional(string)
    emails           = optional(set(string), [])
    heartbeat_period = optional(number, 3600)
    rejected_share   = optional(number, 0.05)
    rollup_backlog   = optional(number, 1000)
    watch_region     = optional(bool, true)
  })
  default = {}

  validation {
    condition     = var.monitoring == null ? true : var.monitoring.topic_arn == null || length(var.monitoring.emails) == 0
    error_message = "Mails come from the topic that is made: subscribe them to yours, or leave topic_arn out."
  }
}

variable "archive" {
  description = "A bucket for exports; see the module archive. Null: none."
  type = object({
    bucket             = string
    kms_key_arn        = optional(string)
    glacier_after_days = optional(number, 90)
    expire_after_days  = optional(number)
  })
  default = null

  validation {
    condition     = var.archive == null ? true : length(var.archive.bucket) >= 3
    error_message = "The bucket needs a name."
  }
}

variable "ingest" {
  description = "A Kinesis stream for readings; see the module ingest. Null: none."
  type = object({
    shards          = optional(number)
    retention_hours = optional(number, 168)
    kms_key_id      = optional(string, "alias/aws/kinesis")
  })
  default = null

  validation {
    condition     = var.ingest == null ? true : var.ingest.retention_hours >= 24
    error_message = "Records are kept for 24 hours or more."
  }
}

variable "service" {
  description = "Varve itself on Fargate; see the module service-ecs. Null: you run it."
  type = object({
    image              = string
    subnet_ids         = set(string)
    security_group_ids = set(string)
    assign_public_ip   = optional(bool, false)
    cluster_arn        = optional(string)
    tasks              = optional(number, 2)
    cpu                = optional(number, 1024)
    memory             = optional(number, 2048)
    architecture       = optional(string, "X86_64")
    proxy = optional(object({
      image       = string
      port        = number
      command     = optional(list(string), [])
      environment = optional(map(string), {})
      secrets     = optional(map(string), {})
    }))
    target_group_arn   = optional(string)
    log_retention_days = optional(number, 30)
  })
  default = null

  validation {
    condition     = var.service == null || var.policies
    error_message = "The service needs the policies: set policies to true."
  }
}

variable "endpoint" {
  description = "Address of a DynamoDB emulator that Varve is to use; null: Amazon's."
  type        = string
  default     = null

  validation {
    condition     = var.endpoint == null ? true : can(regex("^https?://[^/]+", var.endpoint))
    error_message = "An address looks like http://127.0.0.1:8000."
  }
}

variable "tags" {
  description = "Tags of everything that is made here. Time tables have those of template."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : key != "varve:owner" && !startswith(key, "aws:")])
    error_message = "The tag varve:owner is Varve's, and those that begin with aws: are Amazon's."
  }
}
