# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  prefix = "varve"
}

run "prefix" {
  command = plan
  variables {
    prefix = "a_b"
  }
  expect_failures = [var.prefix]
}

run "registry_name" {
  command = plan
  variables {
    registry_name = "varve_1794787200_1795392000_11_2026"
  }
  expect_failures = [var.registry_name]
}

run "no_default_class" {
  command = plan
  variables {
    classes = { audit = { retention = "1y" } }
  }
  expect_failures = [var.classes]
}

run "retention_of_a_class" {
  command = plan
  variables {
    classes = { default = { retention = "1 year" } }
  }
  expect_failures = [var.classes]
}

run "class_of_a_stream" {
  command = plan
  variables {
    streams = { weather = { class = "audit" } }
  }
  expect_failures = [var.streams]
}

run "retention_of_a_stream" {
  command = plan
  variables {
    streams = { weather = { retention = "" } }
  }
  expect_failures = [var.streams]
}

run "row_window" {
  command = plan
  variables {
    streams = { weather = { row_window = "1d" } }
  }
  expect_failures = [var.streams]
}

run "expect" {
  command = plan
  variables {
    streams = { weather = { expect = "old" } }
  }
  expect_failures = [var.streams]
}

run "grace" {
  command = plan
  variables {
    retention = { grace = "soon" }
  }
  expect_failures = [var.retention]
}

run "max_drops" {
  command = plan
  variables {
    retention = { max_drops = 0 }
  }
  expect_failures = [var.retention]
}

run "drop" {
  command = plan
  variables {
    retention = { drop = "sometimes" }
  }
  expect_failures = [var.retention]
}

run "archived_without_archive" {
  command = plan
  variables {
    retention = { drop = "archived" }
  }
  expect_failures = [var.retention]
}

run "hosts" {
  command = plan
  variables {
    hosts = ["https://varve.example.com/"]
  }
  expect_failures = [var.hosts]
}

run "class_of_the_template" {
  command = plan
  variables {
    template = { classes = { audit = {} } }
  }
  expect_failures = [var.template]
}

run "key" {
  command = plan
  variables {
    registry_kms_key_arn = "alias/varve"
  }
  expect_failures = [var.registry_kms_key_arn]
}

run "roles_without_policies" {
  command = plan
  variables {
    policies = false
    roles    = { a = { policies = ["reader"], services = ["ecs-tasks.amazonaws.com"] } }
  }
  expect_failures = [var.roles]
}

run "mails_of_another_topic" {
  command = plan
  variables {
    monitoring = { topic_arn = "arn:aws:sns:eu-central-1:123456789012:a", emails = ["ops@example.com"] }
  }
  expect_failures = [var.monitoring]
}

run "archive_retention" {
  command = plan
  variables {
    archive = { bucket = "readings", retention = "ten years" }
  }
  expect_failures = [var.archive]
}

run "archive_rate" {
  command = plan
  variables {
    archive = { bucket = "readings", rate = -1 }
  }
  expect_failures = [var.archive]
}

run "stream_archive_without_archive" {
  command = plan
  variables {
    streams = { weather = { archive = true } }
  }
  expect_failures = [var.streams]
}

run "clock_policy" {
  command = plan
  variables {
    streams = { weather = { clock_policy = "ignore" } }
  }
  expect_failures = [var.streams]
}

run "lookback" {
  command = plan
  variables {
    streams = { weather = { lookback = "soon" } }
  }
  expect_failures = [var.streams]
}

run "bucket" {
  command = plan
  variables {
    archive = { bucket = "" }
  }
  expect_failures = [var.archive]
}

run "records" {
  command = plan
  variables {
    ingest = { retention_hours = 1 }
  }
  expect_failures = [var.ingest]
}

run "ingest_format" {
  command = plan
  variables {
    ingest = { stream = "weather", format = "csv" }
  }
  expect_failures = [var.ingest]
}

run "ingest_stream" {
  command = plan
  variables {
    ingest = { params = "time=arrival" }
  }
  expect_failures = [var.ingest]
}

run "queue" {
  command = plan
  variables {
    queue = { url = "readings", arn = "arn:aws:sqs:eu-central-1:123456789012:readings", stream = "weather" }
  }
  expect_failures = [var.queue]
}

run "queue_format" {
  command = plan
  variables {
    queue = { url = "https://sqs.eu-central-1.amazonaws.com/123456789012/readings", arn = "arn:aws:sqs:eu-central-1:123456789012:readings", stream = "weather", format = "csv" }
  }
  expect_failures = [var.queue]
}

run "service_without_policies" {
  command = plan
  variables {
    policies = false
    service  = { image = "varve:1", subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
  }
  expect_failures = [var.service]
}

run "endpoint" {
  command = plan
  variables {
    endpoint = "127.0.0.1:8000"
  }
  expect_failures = [var.endpoint]
}

run "tags" {
  command = plan
  variables {
    tags = { "varve:owner" = "me" }
  }
  expect_failures = [var.tags]
}

run "notifier_kind" {
  command = plan
  variables {
    notifiers = { a = { kind = "pager", url = "https://x" } }
  }
  expect_failures = [var.notifiers]
}

run "notifier_topic" {
  command = plan
  variables {
    notifiers = { a = { kind = "sns", topic = "alerts" } }
  }
  expect_failures = [var.notifiers]
}

run "notifier_severity" {
  command = plan
  variables {
    notifiers = { a = { kind = "webhook", url = "https://x", severities = ["bad"] } }
  }
  expect_failures = [var.notifiers]
}

run "alerts_url" {
  command = plan
  variables {
    alerts = { url = "varve.example.com" }
  }
  expect_failures = [var.alerts]
}

run "rejects_limit" {
  command = plan
  variables {
    rejects = { limit = -1 }
  }
  expect_failures = [var.rejects]
}

run "influx_tags" {
  command = plan
  variables {
    doors = { influx = { tags = "labels" } }
  }
  expect_failures = [var.doors]
}

run "iot_accounts" {
  command = plan
  variables {
    doors = { iot_accounts = ["mine"] }
  }
  expect_failures = [var.doors]
}

run "settings_key" {
  command = plan
  variables {
    settings = { "classes.default.retention" = "1y" }
  }
  expect_failures = [var.settings]
}

run "settings_of_modules" {
  command = plan
  variables {
    settings = { "tables.prefix" = "other" }
  }
  expect_failures = [var.settings]
}
