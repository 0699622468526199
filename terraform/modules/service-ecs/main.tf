# Varve on Fargate, as one service. Each task accepts readings, answers queries and can rotate. A
# lease in the registry makes sure that only one task rotates at a time.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  log_group = "/varve/${var.name}"
  images    = concat([var.image], [for p in var.proxy == null ? [] : [var.proxy] : p.image])
  # The ARNs of the images' private ECR repositories.
  repositories = distinct([
    for image in local.images : format("arn:${data.aws_partition.current.partition}:ecr:%s:%s:repository/%s", local.ecr[image].region, local.ecr[image].account, local.ecr[image].name)
    if local.ecr[image] != null
  ])
  ecr = { for image in local.images : image => try(
    regex("^(?P<account>[0-9]{12})[.]dkr[.]ecr[.](?P<region>[a-z0-9-]+)[.]amazonaws[.]com[.a-z]*/(?P<name>[^:@]+)", image), null
  ) }

  # The ARNs of the secrets and parameters. A reference to a secret may have three more parts: a key of
  # JSON, a stage and a version.
  secrets = distinct([
    for reference in concat(values(var.secrets), var.proxy == null ? [] : values(var.proxy.secrets)) :
    join(":", slice(split(":", reference), 0, min(7, length(split(":", reference)))))
  ])
  # Without a proxy, Varve receives requests directly and needs API keys. If a load balancer is in
  # front, it terminates TLS.
  listen = var.proxy != null ? {} : merge(
    { "server.listen" = "0.0.0.0:8278" },
    { for key, value in { "server.proxied" = "true" } : key => value if var.target_group_arn != null }
  )
  settings = merge(var.settings, local.listen)
  entrance = var.proxy == null ? { container = "varve", port = 8278 } : { container = "proxy", port = var.proxy.port }
  cluster  = var.cluster_arn != null ? var.cluster_arn : aws_ecs_cluster.this[0].arn

  logs = { for stream in ["varve", "proxy"] : stream => {
    logDriver = "awslogs"
    options = {
      awslogs-group         = aws_cloudwatch_log_group.this.name
      awslogs-region        = data.aws_region.current.region
      awslogs-stream-prefix = stream
    }
  } }

  varve = {
    name             = "varve"
    image            = var.image
    essential        = true
    command          = concat(["serve"], flatten([for key in sort(keys(local.settings)) : ["--set", "${key}=${local.settings[key]}"]]))
    portMappings     = [for e in [local.entrance] : { containerPort = e.port, protocol = "tcp" } if e.container == "varve"]
    secrets          = [for key in sort(keys(var.secrets)) : { name = key, valueFrom = var.secrets[key] }]
    logConfiguration = local.logs["varve"]
    stopTimeout      = 90
  }

  proxies = [for p in var.proxy == null ? [] : [var.proxy] : {
    name             = "proxy"
    image            = p.image
    essential        = true
    command          = p.command
    portMappings     = [{ containerPort = p.port, protocol = "tcp" }]
    environment      = [for key in sort(keys(p.environment)) : { name = key, value = p.environment[key] }]
    secrets          = [for key in sort(keys(p.secrets)) : { name = key, valueFrom = p.secrets[key] }]
    dependsOn        = [{ containerName = "varve", condition = "START" }]
    logConfiguration = local.logs["proxy"]
  }]
}

resource "aws_ecs_cluster" "this" {
  count = var.cluster_arn == null ? 1 : 0

  name = var.name
  tags = var.tags
}

resource "aws_cloudwatch_log_group" "this" {
  name              = local.log_group
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "task" {
  name               = "${var.name}-task"
  description        = "Permissions of Varve's tasks."
  assume_role_policy = data.aws_iam_policy_document.tasks.json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "task" {
  for_each = var.policy_arns

  role       = aws_iam_role.task.name
  policy_arn = each.value
}

resource "aws_iam_role" "start" {
  name               = "${var.name}-start"
  description        = "Permissions of ECS to start Varve: fetch the image and secrets, write logs."
  assume_role_policy = data.aws_iam_policy_document.tasks.json
  tags               = var.tags
}

data "aws_iam_policy_document" "start" {
  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["arn:${data.aws_partition.current.partition}:logs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:log-group:${local.log_group}:*"]
  }

  dynamic "statement" {
    for_each = length(local.repositories) > 0 ? ["*"] : []
    content {
      sid       = "ImageToken" # the resource is *, because the token is for all repositories
      actions   = ["ecr:GetAuthorizationToken"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = length(local.repositories) > 0 ? [local.repositories] : []
    content {
      sid       = "Images"
      actions   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
      resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(local.secrets) > 0 ? [local.secrets] : []
    content {
      sid       = "Secrets"
      actions   = ["secretsmanager:GetSecretValue", "ssm:GetParameters"]
      resources = statement.value
    }
  }
}

resource "aws_iam_role_policy" "start" {
  name   = "start"
  role   = aws_iam_role.start.name
  policy = data.aws_iam_policy_document.start.json
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  task_role_arn            = aws_iam_role.task.arn
  execution_role_arn       = aws_iam_role.start.arn
  container_definitions    = jsonencode(concat([local.varve], local.proxies))
  tags                     = var.tags

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = var.architecture
  }
}

resource "aws_ecs_service" "this" {
  name                               = var.name
  cluster                            = local.cluster
  task_definition                    = aws_ecs_task_definition.this.arn
  desired_count                      = var.tasks
  launch_type                        = "FARGATE"
  deployment_minimum_healthy_percent = 50
  deployment_maximum_percent         = 200
  propagate_tags                     = "SERVICE"
  tags                               = var.tags

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = var.security_group_ids
    assign_public_ip = var.assign_public_ip
  }

  dynamic "load_balancer" {
    for_each = var.target_group_arn == null ? [] : [var.target_group_arn]
    content {
      target_group_arn = load_balancer.value
      container_name   = local.entrance.container
      container_port   = local.entrance.port
    }
  }

  depends_on = [aws_iam_role_policy_attachment.task, aws_iam_role_policy.start]
}
