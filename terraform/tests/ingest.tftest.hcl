# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name = "varve-readings"
}

run "name" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    name = "a b"
  }
  expect_failures = [var.name]
}

run "shards" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    shards = 0
  }
  expect_failures = [var.shards]
}

run "retention" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    retention_hours = 1
  }
  expect_failures = [var.retention_hours]
}

run "key" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    kms_key_id = "alias/my-key"
  }
  expect_failures = [var.kms_key_id]
}

run "tags" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}

run "rule" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    rule = { sql = "DROP TABLE" }
  }
  expect_failures = [var.rule]
}

run "partition" {
  command = plan
  module {
    source = "./modules/ingest"
  }
  variables {
    rule = { sql = "SELECT * FROM 'a/b'", partition_key = "" }
  }
  expect_failures = [var.rule]
}
