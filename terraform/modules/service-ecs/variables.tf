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
  description = "Container image of Varve. Its entry point is varve, as in the image that make dist builds."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[^ ]+(:|@sha256:)[A-Za-z0-9_.-]+$", var.image))
    error_message = "Name the image with a tag or digest, as in 123456789012.dkr.ecr.eu-central-1.amazonaws.com/varve:v0.1.0."
  }
}

variable "settings" {
  description = "Varve's settings, as in varve config print; use the root module's output settings."
  type        = map(string)
  nullable    = false

  validation {
    condition     = alltrue([for key in ["store.kind", "store.registry", "tables.prefix"] : contains(keys(var.settings), key)])
    error_message = "The settings store.kind, store.registry and tables.prefix are required."
  }
}

variable "policy_arns" {
  description = "ARNs of policies for the task's role, by names of your choice. Use the policies of the module iam for the parts that this service runs."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.policy_arns) > 0
    error_message = "At least one policy is required."
  }
}

variable "subnet_ids" {
  description = "Subnets of the tasks."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) > 0 && alltrue([for id in var.subnet_ids : startswith(id, "subnet-")])
    error_message = "At least one subnet is required, such as subnet-0123456789abcdef0."
  }
}

variable "security_group_ids" {
  description = "Security groups of the tasks, which control access to their port."
  type        = set(string)
  nullable    = false

  validation {
    condition     = length(var.security_group_ids) > 0 && alltrue([for id in var.security_group_ids : startswith(id, "sg-")])
    error_message = "At least one security group is required, such as sg-0123456789abcdef0."
  }
}

variable "assign_public_ip" {
  description = "Whether tasks get public addresses. Subnets without another route to DynamoDB and the image need them."
  type        = bool
  default     = false
  nullable    = false
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster. If null, a cluster is created."
  type        = string
  default     = null

  validation {
    condition     = var.cluster_arn == null ? true : can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/", var.cluster_arn))
    error_message = "A cluster is an ARN of the form arn:…:ecs:…:cluster/…."
  }
}

variable "tasks" {
  description = "Number of tasks. All of them accept readings and answer queries. Only one of them rotates at a time."
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = var.tasks >= 0 && floor(var.tasks) == var.tasks
    error_message = "The number of tasks must be whole and not negative."
  }
}

variable "cpu" {
  description = "CPU units of a task on Fargate: 1024 are one CPU."
  type        = number
  default     = 1024
  nullable    = false

  validation {
    condition     = contains([256, 512, 1024, 2048, 4096, 8192, 16384], var.cpu)
    error_message = "Fargate allows 256, 512, 1024, 2048, 4096, 8192 and 16384."
  }
}

variable "memory" {
  description = "Memory of a task in MiB."
  type        = number
  default     = 2048
  nullable    = false

  validation {
    condition     = var.memory >= 512 && var.memory <= 122880
    error_message = "Fargate allows 512 to 122880 MiB, depending on the CPU."
  }
}

variable "architecture" {
  description = "Processor architecture of the image: X86_64 or ARM64."
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
    A container beside Varve that authenticates clients as you require, and forwards requests to 127.0.0.1:8278. `secrets` are ARNs of secrets
    or parameters, by the environment variable that receives them. If null, Varve listens on port 8278 itself and needs API keys.
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
    error_message = "The proxy's port is 1 to 65535, except 8278, which Varve uses."
  }
}

variable "secrets" {
  description = "ARNs of secrets or parameters, by the environment variable that receives them, such as the secret_env of a notifier."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name, arn in var.secrets : can(regex("^[A-Za-z_][A-Za-z0-9_]*$", name)) && !startswith(name, "VARVE_") && can(regex("^arn:[^:]+:(secretsmanager|ssm):", arn))])
    error_message = "A variable has letters, digits and _, and does not begin with VARVE_. Its secret is an ARN of the form arn:…:secretsmanager:… or arn:…:ssm:…."
  }
}

variable "target_group_arn" {
  description = "ARN of the target group of a load balancer, which must terminate TLS and use /healthz as its health check: ECS replaces tasks that fail it. If null, no load balancer is attached."
  type        = string
  default     = null

  validation {
    condition     = var.target_group_arn == null ? true : can(regex("^arn:[^:]+:elasticloadbalancing:[^:]+:[0-9]{12}:targetgroup/", var.target_group_arn))
    error_message = "A target group is an ARN of the form arn:…:elasticloadbalancing:…:targetgroup/…."
  }
}

variable "log_retention_days" {
  description = "Days for which CloudWatch stores logs."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "CloudWatch allows 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653 days."
  }
}

variable "tags" {
  description = "Tags of all created resources."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "Tags that begin with aws: are reserved for AWS."
  }
}
