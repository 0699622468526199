output "service_config" {
  description = "Varve's configuration: terraform output -json service_config > varve.json, varve serve --config varve.json."
  value       = module.varve.service_config
}

output "policy_arns" {
  description = "ARNs of the policies for Varve's processes: router, rotator and reader."
  value       = module.varve.policy_arns
}
