# Varve with a DynamoDB emulator on this machine. The emulator has only tables: no
# policies and no alarms. Terraform finds it by AWS_ENDPOINT_URL_DYNAMODB.

provider "aws" {
  region                      = "eu-central-1"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

module "varve" {
  source = "../.."

  prefix              = var.prefix
  endpoint            = var.endpoint
  deletion_protection = var.deletion_protection
  policies            = false
  monitoring          = null
  classes             = var.classes
  template            = var.template
}
