variable "name" { type = string }

variable "zones" { type = list(string) }

resource "terraform_data" "network" {
  input = { name = var.name }
}

resource "terraform_data" "subnet" {
  count = length(var.zones)
  input = {
    network = terraform_data.network.id
    zone    = var.zones[count.index]
    range   = cidrsubnet("10.0.0.0/16", 8, count.index)
  }
}

# By zone, so that subnets need not be found by index.
output "subnets" {
  value = { for subnet in terraform_data.subnet : subnet.output.zone => subnet.output.range }
}
