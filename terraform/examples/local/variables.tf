variable "prefix" {
  description = "Prefix of all tables' names."
  type        = string
  default     = "local"
  nullable    = false

  validation {
    condition     = length(var.prefix) > 0
    error_message = "A prefix is never empty."
  }
}

variable "endpoint" {
  description = "The emulator's address."
  type        = string
  default     = "http://127.0.0.1:8000"
  nullable    = false

  validation {
    condition     = startswith(var.endpoint, "http")
    error_message = "An address looks like http://127.0.0.1:8000."
  }
}

variable "deletion_protection" {
  description = "Whether the registry refuses to be deleted."
  type        = bool
  default     = false
  nullable    = false
}

variable "classes" {
  description = "Retention classes and how long each keeps readings."
  type        = map(object({ retention = string }))
  default     = { default = { retention = "30d" } }
  nullable    = false

  validation {
    condition     = contains(keys(var.classes), "default")
    error_message = "There is a class default."
  }
}

variable "template" {
  description = "What time tables are made from; see the module registry."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.template))
    error_message = "The template is an object."
  }
}
