# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name               = "varve"
  image              = "varve:v0.1.0"
  settings           = { "store.kind" = "dynamodb", "store.registry" = "varve_registry", "tables.prefix" = "varve" }
  policy_arns        = { router = "arn:aws:iam::123456789012:policy/varve-router" }
  subnet_ids         = ["subnet-1"]
  security_group_ids = ["sg-1"]
}

run "name" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    name = "a b"
  }
  expect_failures = [var.name]
}

run "image_without_a_tag" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    image = "varve"
  }
  expect_failures = [var.image]
}

run "settings" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    settings = { "store.kind" = "dynamodb" }
  }
  expect_failures = [var.settings]
}

run "no_policy" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    policy_arns = {}
  }
  expect_failures = [var.policy_arns]
}

run "subnets" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    subnet_ids = ["10.0.0.0/8"]
  }
  expect_failures = [var.subnet_ids]
}

run "security_groups" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    security_group_ids = []
  }
  expect_failures = [var.security_group_ids]
}

run "cluster" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    cluster_arn = "varve"
  }
  expect_failures = [var.cluster_arn]
}

run "tasks" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    tasks = -1
  }
  expect_failures = [var.tasks]
}

run "cpu" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    cpu = 1000
  }
  expect_failures = [var.cpu]
}

run "memory" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    memory = 128
  }
  expect_failures = [var.memory]
}

run "architecture" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    architecture = "MIPS"
  }
  expect_failures = [var.architecture]
}

run "port_of_varve" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    proxy = { image = "proxy:1", port = 8278 }
  }
  expect_failures = [var.proxy]
}

run "target_group" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    target_group_arn = "varve"
  }
  expect_failures = [var.target_group_arn]
}

run "logs" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    log_retention_days = 31
  }
  expect_failures = [var.log_retention_days]
}

run "tags" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}

run "secrets" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    secrets = { VARVE_KEY = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:key" }
  }
  expect_failures = [var.secrets]
}

run "secret_with_a_key_of_json" {
  command = plan
  module {
    source = "./modules/service-ecs"
  }
  variables {
    secrets = {
      HOOK_TOKEN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf:TOKEN::"
      MQTT_KEY   = "arn:aws:ssm:eu-central-1:123456789012:parameter/mqtt/key"
    }
  }
  assert {
    condition = toset(one([for s in data.aws_iam_policy_document.start.statement : s.resources if s.sid == "Secrets"])) == toset([
      "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf",
      "arn:aws:ssm:eu-central-1:123456789012:parameter/mqtt/key",
    ])
    error_message = "ECS may read ${jsonencode(data.aws_iam_policy_document.start.statement)}."
  }
  assert {
    condition     = strcontains(aws_ecs_task_definition.this.container_definitions, ":secret:hook-AbCdEf:TOKEN::")
    error_message = "The task has no key of JSON: ${aws_ecs_task_definition.this.container_definitions}."
  }
}
