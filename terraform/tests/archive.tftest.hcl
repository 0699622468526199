# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  bucket = "varve-archive"
}

run "bucket" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    bucket = "Varve"
  }
  expect_failures = [var.bucket]
}

run "key" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    kms_key_arn = "alias/varve"
  }
  expect_failures = [var.kms_key_arn]
}

run "glacier" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    glacier_after_days = 0
  }
  expect_failures = [var.glacier_after_days]
}

run "expiry" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    expire_after_days  = 0
    glacier_after_days = null
  }
  expect_failures = [var.expire_after_days]
}

run "expiry_before_glacier" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    expire_after_days = 30
  }
  expect_failures = [var.expire_after_days]
}

run "tags" {
  command = plan
  module {
    source = "./modules/archive"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}
