# Most options of the module: two retention classes, tables with provisioned capacity and your KMS
# key, alarms by e-mail, an archive, a Kinesis stream for readings, notifiers, and Varve on Fargate
# behind your load balancer.

provider "aws" {
  region = var.region

  default_tags {
    tags = { project = "varve" }
  }
}

data "aws_caller_identity" "current" {}

module "varve" {
  source = "../.."

  prefix = var.prefix
  classes = {
    default = { retention = "1y" }
    audit   = { retention = "forever" }
  }
  streams = {
    access-log = { class = "audit" }
    vibration  = { retention = "30d", archive = true }
  }
  retention = { drop = "archived", grace = "14d" }
  hosts     = ["varve.example.com"]

  registry_kms_key_arn = var.kms_key_arn
  template = {
    billing = "provisioned"
    capacity = {
      hot  = { read = 50, write = 200 }
      warm = { read = 10, write = 10 }
      cold = { read = 2, write = 1 }
    }
    capacity_max           = { hot = { read = 200, write = 2000 }, cold = { read = 100, write = 5 } }
    table_class            = { cold = "standard_infrequent_access" }
    kms_key                = var.kms_key_arn
    point_in_time_recovery = true
    tags                   = { project = "varve" }
    classes = {
      audit = { billing = "on_demand", tags = { audit = "yes" } }
    }
  }

  roles = {
    analyst = {
      policies   = ["reader"]
      principals = ["arn:aws:iam::${data.aws_caller_identity.current.account_id}:root"]
    }
  }

  monitoring = { emails = var.emails }
  archive = {
    bucket            = "${var.prefix}-archive-${data.aws_caller_identity.current.account_id}"
    kms_key_arn       = var.kms_key_arn
    retention         = "10y"
    expire_after_days = 3700
  }
  ingest = {
    stream = "weather"
    params = "fields=flat"
    rule   = { sql = "SELECT *, topic(2) AS device, timestamp() AS time FROM 'sensors/+/readings'" }
  }

  notifiers = {
    on-call = { kind = "webhook", url = "https://pager.example.com/hook", secret_env = "HOOK_SECRET", severities = ["critical"] }
    team    = { kind = "sns", topic = "arn:aws:sns:eu-central-1:${data.aws_caller_identity.current.account_id}:alerts" }
  }
  alerts  = { url = "https://varve.example.com" }
  rejects = { limit = 50000, retention = "60d" }
  doors   = { influx = { databases = ["telegraf"] }, firehose = true, iot_accounts = [data.aws_caller_identity.current.account_id] }

  service = {
    image              = var.image
    secrets            = { HOOK_SECRET = "arn:aws:secretsmanager:eu-central-1:${data.aws_caller_identity.current.account_id}:secret:hook" }
    subnet_ids         = var.subnet_ids
    security_group_ids = var.security_group_ids
    target_group_arn   = var.target_group_arn
  }

  tags = { team = "devices" }
}
