// What the provider is built from where Terraform's registry does not answer:
// build.sh downloads it, and go.sum says that it is what it should be.
module github.com/varvedb/varve/tests/terraform/provider

go 1.26.0
