variable "prefix" {
  description = "Prefix of all table names."
  type        = string
  default     = "local"
  nullable    = false

  validation {
    condition     = length(var.prefix) > 0
    error_message = "The prefix must not be empty."
  }
}

variable "endpoint" {
  description = "Address of the emulator."
  type        = string
  default     = "http://127.0.0.1:8000"
  nullable    = false

  validation {
    condition     = startswith(var.endpoint, "http")
    error_message = "An address has the form http://127.0.0.1:8000."
  }
}

variable "deletion_protection" {
  description = "Whether the registry is protected against deletion."
  type        = bool
  default     = false
  nullable    = false
}

variable "classes" {
  description = "Retention classes, each with its retention."
  type        = map(object({ retention = string }))
  default     = { default = { retention = "30d" } }
  nullable    = false

  validation {
    condition     = contains(keys(var.classes), "default")
    error_message = "The class default is required."
  }
}

variable "template" {
  description = "Table template: how the rotator creates time tables; see the module registry."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.template))
    error_message = "The template must be an object."
  }
}
