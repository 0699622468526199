# Varve in your account: the registry, policies for its processes, and alarms.

provider "aws" {
  region = var.region
}

module "varve" {
  source = "../.."
}
