variable "name" {
  description = "Name of the service, its cluster, logs and roles."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,50}$", var.name))
    error_message = "The name has 1 to 50 letters, digits, _ or -."
  }
}

variable "image" {
  description = "Image of Varve, whose entry point is varve."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[^ ]+(:|@sha256:)[A-Za-z0-9_.-]+$", var.image))
    error_message = "Name the image with a tag or digest, as in 123456789012.dkr.ecr.eu-central-1.amazonaws.com/varve:v0.1.0."
  }
}

variable "settings" {
  description = "Varve's settings, as in varve config print; the root module's output settings has them."
  type        = map(string)
  nullable    = false

  validation {
    condition     = alltrue([for key in ["store.kind", "store.registry", "tables.prefix"] : contains(keys(var.settings), key)])
    error_message = "At least store.kind, store.registry and tables.prefix must be there."
  }
}

variable "policy_arns" {
  description = "ARNs of the policies of the task's role, by names of your choice: of the module iam, those of the parts that this service runs."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.policy_arns) > 0
    error_message = "Without a policy, Varve may do nothing."
  }
}

variable "subnet_ids" {
  description = "Subnets of the tasks."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) > 0 && alltrue([for id in var.subnet_ids : startswith(id, "subnet-")])
    error_message = "There is at least one subnet, as subnet-0123456789abcdef0."
  }
}

variable "security_group_ids" {
  description = "Security groups of the tasks: what may reach their port."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.security_group_ids) > 0 && alltrue([for id in var.security_group_ids : startswith(id, "sg-")])
    error_message = "There is at least one security group, as sg-0123456789abcdef0."
  }
}

variable "assign_public_ip" {
  description = "Whether tasks get public addresses, which they need in subnets without another way to DynamoDB and the image."
  type        = bool
  default     = false
  nullable    = false
}

variable "cluster_arn" {
  description = "ARN of the cluster to run in; null: one of its own is made."
  type        = string
  default     = null

  validation {
    condition     = var.cluster_arn == null ? true : can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/", var.cluster_arn))
    error_message = "A cluster is given by its ARN, arn:…:ecs:…:cluster/…."
  }
}

variable "tasks" {
  description = "Number of tasks. Each routes and answers; one of them at a time rotates."
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = var.tasks >= 0 && floor(var.tasks) == var.tasks
    error_message = "It takes whole tasks."
  }
}

variable "cpu" {
  description = "CPU units of a task, as Fargate has them: 1024 are one CPU."
  type        = number
  default     = 1024
  nullable    = false

  validation {
    condition     = contains([256, 512, 1024, 2048, 4096, 8192, 16384], var.cpu)
    error_message = "Fargate has 256, 512, 1024, 2048, 4096, 8192 and 16384."
  }
}

variable "memory" {
  description = "MiB of a task."
  type        = number
  default     = 2048
  nullable    = false

  validation {
    condition     = var.memory >= 512 && var.memory <= 122880
    error_message = "Fargate has 512 to 122880 MiB, depending on the CPU."
  }
}

variable "architecture" {
  description = "Processors that the image is for: X86_64 or ARM64."
  type        = string
  default     = "X86_64"
  nullable    = false

  validation {
    condition     = contains(["X86_64", "ARM64"], var.architecture)
    error_message = "The architecture is X86_64 or ARM64."
  }
}

variable "proxy" {
  description = <<-EOT
    A container beside Varve that authenticates who calls in a way of yours, and passes requests on to 127.0.0.1:8278. `secrets` are ARNs of
    secrets or parameters, by the variable that gets them. Null: Varve listens on port 8278 itself, and takes API keys.
  EOT
  type = object({
    image       = string
    port        = number
    command     = optional(list(string), [])
    environment = optional(map(string), {})
    secrets     = optional(map(string), {})
  })
  default = null

  validation {
    condition     = var.proxy == null ? true : var.proxy.port >= 1 && var.proxy.port <= 65535 && var.proxy.port != 8278
    error_message = "The proxy listens on a port of 1 to 65535, and 8278 is Varve's."
  }
}

variable "target_group_arn" {
  description = "ARN of the load balancer's target group that gets the port; it ends TLS, and asks /readyz for health. Null: none."
  type        = string
  default     = null

  validation {
    condition     = var.target_group_arn == null ? true : can(regex("^arn:[^:]+:elasticloadbalancing:[^:]+:[0-9]{12}:targetgroup/", var.target_group_arn))
    error_message = "A target group is given by its ARN, arn:…:elasticloadbalancing:…:targetgroup/…."
  }
}

variable "log_retention_days" {
  description = "Days for which logs are kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "CloudWatch keeps logs for 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180 or 365 days, or for years of them."
  }
}

variable "tags" {
  description = "Tags of all of it."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are Amazon's."
  }
}
