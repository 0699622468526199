// Package terraform tests the modules in terraform/.
//
// The plans that Terraform makes with the real provider must have the tables, rights and alarms that
// Varve needs. Deployments on a DynamoDB emulator must work with the real program. The script tools.sh
// fetches the tools. The package is a separate Go module, because terratest has many dependencies that
// the program does not need.
package terraform
