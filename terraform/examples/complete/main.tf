# Every option of the module: two retention classes, tables with provisioned capacity and your KMS
# key, alarms by mail, an archive, a stream for readings, and Varve on Fargate behind your load
# balancer.

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
    vibration  = { retention = "30d" }
  }
  retention = { drop = true, grace = "14d" }
  hosts     = ["varve.example.com"]

  registry_kms_key_arn = var.kms_key_arn
  template = {
    billing = "provisioned"
    capacity = {
      hot  = { read = 50, write = 200 }
      warm = { read = 10, write = 10 }
      cold = { read = 2, write = 1 }
    }
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
  archive    = { bucket = "${var.prefix}-archive-${data.aws_caller_identity.current.account_id}", expire_after_days = 3650 }
  ingest     = {}

  service = {
    image              = var.image
    subnet_ids         = var.subnet_ids
    security_group_ids = var.security_group_ids
    target_group_arn   = var.target_group_arn
  }

  tags = { team = "devices" }
}
