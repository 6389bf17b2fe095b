# Modules, count and for_each: the structure of a larger configuration, with objects that only exist in the state.
#
#   tombolo init       records the directories of the modules; necessary once, and after adding a module
#   tombolo apply

variable "environments" {
  description = "How many instances of every service each environment has"
  type        = map(number)
  default = {
    staging    = 1
    production = 3
  }
}

# One network for each environment.
module "network" {
  source   = "./network"
  for_each = var.environments
  name     = each.key
  zones    = ["a", "b"]
}

# A service in each network. It gets the values of the network from that module's outputs.
module "service" {
  source   = "./service"
  for_each = module.network
  name     = "web-${each.key}"
  subnets  = each.value.subnets
  size     = var.environments[each.key]
}

output "addresses" {
  description = "Where the services answer"
  value       = { for name, service in module.service : name => service.addresses }
}
