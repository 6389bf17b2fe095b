terraform {
  required_providers {
    inventory = {
      source = "example/inventory"
    }
  }
}

variable "url" {
  type    = string
  default = null
}

variable "token" {
  type      = string
  default   = null
  sensitive = true
}

variable "role" {
  type    = string
  default = "web"
}

provider "inventory" {
  url   = var.url
  token = var.token
}

data "inventory_host" "gateway" {
  name = "gateway"
}

resource "inventory_host" "web" {
  name = "web-1"
  tags = {
    role    = var.role
    gateway = data.inventory_host.gateway.address
  }
}

resource "inventory_group" "web" {
  name        = "web"
  hosts       = [inventory_host.web.id]
  description = "Hosts of the ${var.role} role"
}

output "address" {
  value = inventory_host.web.address
}
