# Varve on your account: the registry, policies for who runs it, alarms.

provider "aws" {
  region = var.region
}

module "varve" {
  source = "../.."
}
