terraform {
  required_providers {
    cloud = { source = "example/cloud" }
  }
}

variable "range" { type = string }
variable "zones" { type = set(string) }

resource "cloud_network" "main" {
  range = var.range
  tags  = { team = "shop" }
}

resource "cloud_subnet" "zone" {
  for_each = var.zones
  network  = cloud_network.main.id
  range    = cidrsubnet(var.range, 8, index(sort(var.zones), each.key))
}

resource "cloud_firewall" "web" {
  network = cloud_network.main.id
  rules   = [{ port = 80, from = "0.0.0.0/0" }, { port = 443, from = "0.0.0.0/0" }]
}

output "subnets" {
  value = { for zone, subnet in cloud_subnet.zone : zone => subnet.id }
}
