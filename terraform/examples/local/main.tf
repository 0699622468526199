# Varve with a DynamoDB emulator on this machine. The emulator supports only tables, so this
# example has no policies and no alarms. Set AWS_ENDPOINT_URL_DYNAMODB to the address of the
# emulator.

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
