# Every validation must reject an invalid value.

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name          = "varve"
  deployment    = "varve"
  registry_name = "varve_registry"
}

run "name" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    name = "a b"
  }
  expect_failures = [var.name]
}

run "deployment" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    deployment = "a_b"
  }
  expect_failures = [var.deployment]
}

run "registry_name" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    registry_name = "a b"
  }
  expect_failures = [var.registry_name]
}

run "topic" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    topic_arn = "alarms"
  }
  expect_failures = [var.topic_arn]
}

run "key_that_cloudwatch_may_not_use" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    topic_kms_key_id = "alias/aws/sns"
  }
  expect_failures = [var.topic_kms_key_id]
}

run "address" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    emails = ["ops"]
  }
  expect_failures = [var.emails]
}

run "period" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    heartbeat_period = 60
  }
  expect_failures = [var.heartbeat_period]
}

run "share" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    rejected_share = 5
  }
  expect_failures = [var.rejected_share]
}

run "backlog" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    rollup_backlog = 0
  }
  expect_failures = [var.rollup_backlog]
}

run "tags" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    tags = { "aws:x" = "y" }
  }
  expect_failures = [var.tags]
}

run "delivery_age" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    delivery_age = 10
  }
  expect_failures = [var.delivery_age]
}

run "addresses_for_own_topic" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    topic_arn = "arn:aws:sns:eu-central-1:123456789012:mine"
    emails    = ["ops@example.com"]
  }
  expect_failures = [var.emails]
}

run "alarm_names_with_deliveries" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    deliveries = true
  }
  assert {
    condition     = length(setintersection(output.alarm_names, ["varve-deliveries-failed", "varve-delivery-age"])) == 2
    error_message = "The alarms of deliveries are missing: ${join(" ", output.alarm_names)}."
  }
}

run "alarm_names_without_deliveries" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    deliveries = false
  }
  assert {
    condition     = !anytrue([for name in output.alarm_names : strcontains(name, "deliver")])
    error_message = "Alarms of deliveries are named, and do not exist: ${join(" ", output.alarm_names)}."
  }
}

run "graphs_of_time_tables" {
  command = plan
  module {
    source = "./modules/monitoring"
  }
  variables {
    deployment    = "varve-eu"
    registry_name = "varve-eu_registry"
  }
  assert {
    condition = [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w.properties.metrics[0][0].expression if startswith(w.properties.title, "Time tables")] == [
      for m in ["ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"] : "SEARCH('{AWS/DynamoDB,TableName} MetricName=\"${m}\" varve eu NOT \"varve-eu_registry\"', 'Sum', 300)"
    ]
    error_message = "The dashboard is ${aws_cloudwatch_dashboard.this.dashboard_body}."
  }
}
