output "service_config" {
  description = "Varve's configuration: terraform output -json service_config > varve.json, varve serve --config varve.json."
  value       = module.varve.service_config
}

output "registry" {
  description = "Name and ARN of the registry's table."
  value       = module.varve.registry
}

output "template" {
  description = "The table template in JSON, as the rotator reads it."
  value       = module.varve.template
}
