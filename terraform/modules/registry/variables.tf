variable "name" {
  description = "Name of the registry's table."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.name))
    error_message = "A table's name has 3 to 255 letters, digits, _ . or -."
  }
  validation {
    condition     = !can(regex("_.*_.*_.*_.{4}$", var.name))
    error_message = "The name has the form of a time table, <prefix>_<start>_<end>_<MM>_<YYYY>, which the rotator may delete."
  }
}

variable "template" {
  description = <<-EOT
    Table template: the rotator reads it each time it creates or tunes a time table.
    `billing` is on_demand (the default) or provisioned. `capacity` (read and write units a second) and `table_class` (standard or
    standard_infrequent_access) have values by tier: hot, warm and cold. `capacity_max` has the largest capacity of tiers whose tables
    are scaled by their use; their `capacity` is the smallest one. `kms_key` is the ARN of the key that encrypts tables; without it, AWS's
    own key does. `deletion_protection` is on by default, and turned off right before a table is dropped. `point_in_time_recovery` is
    off by default. `classes` has other values for the tables of a retention class.
  EOT
  type = object({
    billing                = optional(string)
    capacity               = optional(map(object({ read = number, write = number })), {})
    capacity_max           = optional(map(object({ read = number, write = number })), {})
    table_class            = optional(map(string), {})
    kms_key                = optional(string)
    point_in_time_recovery = optional(bool)
    deletion_protection    = optional(bool)
    tags                   = optional(map(string), {})
    classes = optional(map(object({
      billing                = optional(string)
      capacity               = optional(map(object({ read = number, write = number })), {})
      capacity_max           = optional(map(object({ read = number, write = number })), {})
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
    condition = alltrue([
      for s in concat([var.template], values(var.template.classes)) : s.billing == null ? true : contains(["on_demand", "provisioned"], s.billing)
    ])
    error_message = "Billing is on_demand or provisioned."
  }
  validation {
    condition = alltrue(flatten([
      for s in concat([var.template], values(var.template.classes)) : [
        for tier in concat(keys(s.capacity), keys(s.capacity_max), keys(s.table_class)) : contains(["hot", "warm", "cold"], tier)
      ]
    ]))
    error_message = "The tiers are hot, warm and cold."
  }
  validation {
    condition = alltrue(flatten([
      for s in concat([var.template], values(var.template.classes)) : [
        for c in concat(values(s.capacity), values(s.capacity_max)) : c.read >= 1 && c.write >= 1 && floor(c.read) == c.read && floor(c.write) == c.write
      ]
    ]))
    error_message = "Capacity is whole read and write units, at least 1."
  }
  validation {
    condition = alltrue([
      for s in concat([var.template], [
        for own in values(var.template.classes) : {
          billing  = try(coalesce(own.billing, var.template.billing), null)
          capacity = merge(var.template.capacity, own.capacity)
        }
      ]) : s.billing == "provisioned" ? length(setintersection(keys(s.capacity), ["hot", "warm"])) == 2 : true
    ])
    error_message = "Provisioned tables need a capacity for hot and for warm; without one for cold, they become on demand when they are sealed."
  }
  validation {
    condition = alltrue(flatten([
      for s in concat([var.template], [
        for own in values(var.template.classes) : {
          capacity     = merge(var.template.capacity, own.capacity)
          capacity_max = merge(var.template.capacity_max, own.capacity_max)
        }
        ]) : [
        for tier, most in s.capacity_max : try(most.read >= s.capacity[tier].read && most.write >= s.capacity[tier].write, false)
      ]
    ]))
    error_message = "A largest capacity (capacity_max) needs a capacity of the same tier, which is not larger."
  }
  validation {
    condition = alltrue(flatten([
      for s in concat([var.template], values(var.template.classes)) : [
        for class in values(s.table_class) : contains(["standard", "standard_infrequent_access"], class)
      ]
    ]))
    error_message = "A table's class is standard or standard_infrequent_access."
  }
  validation {
    condition = alltrue([
      for s in concat([var.template], values(var.template.classes)) : s.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", s.kms_key))
    ])
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
  validation {
    condition = alltrue(flatten([
      for s in concat([var.template], values(var.template.classes)) : [
        for key in keys(s.tags) : key != "" && key != "varve:owner" && !startswith(key, "aws:")
      ]
    ]))
    error_message = "Tags must have a name; varve:owner is reserved for Varve, and tags that begin with aws: for AWS."
  }
  validation {
    condition     = alltrue([for name in keys(var.template.classes) : can(regex("^[A-Za-z0-9]+$", name))])
    error_message = "The name of a retention class has letters and digits only."
  }
}

variable "deletion_protection" {
  description = "Whether the registry is protected against deletion. Apply false before you destroy it."
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

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts the registry. If null, a key of AWS is used."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key_arn))
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}

variable "tags" {
  description = "Tags of the registry, besides varve:owner."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : key != "varve:owner" && !startswith(key, "aws:")])
    error_message = "The tag varve:owner is reserved for Varve, and tags that begin with aws: for AWS."
  }
}
