// Package terraform tests the modules in terraform/: that they say what the
// program expects (plans, by the real provider), and that a deployment made with
// them works (applied to an emulator of DynamoDB, with the real program). What
// it is tested with comes from tools.sh. It is a module of its own: terratest
// brings much that the program does not need.
package terraform
