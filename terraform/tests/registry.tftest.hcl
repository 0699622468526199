# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name = "varve_registry"
}

run "name_of_a_table_that_dynamodb_does_not_take" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    name = "a b"
  }
  expect_failures = [var.name]
}

run "name_of_a_time_table" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    name = "varve_1794787200_1795392000_11_2026"
  }
  expect_failures = [var.name]
}

run "billing" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { billing = "PAY_PER_REQUEST" }
  }
  expect_failures = [var.template]
}

run "tier" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { table_class = { lukewarm = "standard" } }
  }
  expect_failures = [var.template]
}

run "no_units" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { capacity = { hot = { read = 0, write = 1 } } }
  }
  expect_failures = [var.template]
}

run "parts_of_units" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { capacity = { hot = { read = 1.5, write = 1 } } }
  }
  expect_failures = [var.template]
}

run "capacity_of_a_tier_is_missing" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { billing = "provisioned", capacity = { hot = { read = 1, write = 1 }, cold = { read = 1, write = 1 } } }
  }
  expect_failures = [var.template]
}

run "capacity_of_a_class_is_missing" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { classes = { audit = { billing = "provisioned" } } }
  }
  expect_failures = [var.template]
}

run "table_class" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { table_class = { cold = "STANDARD" } }
  }
  expect_failures = [var.template]
}

run "key_of_the_template" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { kms_key = "alias/varve" }
  }
  expect_failures = [var.template]
}

run "tag_of_varve" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { tags = { "varve:owner" = "me" } }
  }
  expect_failures = [var.template]
}

run "name_of_a_class" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    template = { classes = { "a-b" = {} } }
  }
  expect_failures = [var.template]
}

run "key" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    kms_key_arn = "alias/varve"
  }
  expect_failures = [var.kms_key_arn]
}

run "tags" {
  command = plan
  module {
    source = "./modules/registry"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}
