# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name           = "varve"
  registry_name  = "varve_registry"
  table_prefixes = ["varve"]
}

run "name" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    name = "a b"
  }
  expect_failures = [var.name]
}

run "registry_name" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    registry_name = "varve_1794787200_1795392000_11_2026"
  }
  expect_failures = [var.registry_name]
}

run "no_prefix" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    table_prefixes = []
  }
  expect_failures = [var.table_prefixes]
}

run "prefix_of_everything" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    table_prefixes = ["*"]
  }
  expect_failures = [var.table_prefixes]
}

run "key" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    kms_key_arns = ["*"]
  }
  expect_failures = [var.kms_key_arns]
}

run "policy_of_a_role" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    roles = { a = { policies = ["admin"], services = ["ecs-tasks.amazonaws.com"] } }
  }
  expect_failures = [var.roles]
}

run "role_without_principals" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    roles = { a = { policies = ["reader"] } }
  }
  expect_failures = [var.roles]
}

run "role_open_to_all" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    roles = { a = { policies = ["reader"], principals = ["*"] } }
  }
  expect_failures = [var.roles]
}

run "tags" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}

run "sources_streams" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    sources = { streams = ["readings"] }
  }
  expect_failures = [var.sources]
}

run "sources_queues" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    sources = { queues = ["arn:aws:sqs:eu-central-1:123456789012:*"] }
  }
  expect_failures = [var.sources]
}

run "sources_keys" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    sources = { keys = ["alias/mine"] }
  }
  expect_failures = [var.sources]
}

run "topics" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    topics = ["arn:aws:sns:eu-central-1:123456789012:*"]
  }
  expect_failures = [var.topics]
}

run "archive" {
  command = plan
  module {
    source = "./modules/iam"
  }
  variables {
    archive = { policy = "arn:aws:s3:::varve-archive" }
  }
  expect_failures = [var.archive]
}
