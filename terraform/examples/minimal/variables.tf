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
