terraform {
  required_providers {
    cloud = { source = "example/cloud" }
  }
}

variable "password" {
  type      = string
  sensitive = true
  default   = "correct horse battery"
}

module "network" {
  source = "./network"
  range  = "10.0.0.0/16"
  zones  = ["a", "b", "c"]
}

resource "cloud_database" "orders" {
  subnet   = module.network.subnets["a"]
  engine   = "postgres 16"
  password = var.password
  disk     = 100
}

resource "cloud_server" "web" {
  count  = 4
  subnet = module.network.subnets[element(["a", "b"], count.index)]
  image  = "debian-12"
  size   = "small"
  script = <<-EOT
    #!/bin/sh
    apt-get update
    apt-get install -y nginx
    systemctl enable --now nginx
  EOT
  tags   = { role = "web" }
}

resource "cloud_server" "worker" {
  for_each = toset(["mail", "invoice", "stock"])
  subnet   = module.network.subnets["b"]
  image    = "debian-12"
  size     = "small"
  tags     = { role = each.key }
}

resource "cloud_server" "bastion" {
  subnet = module.network.subnets["c"]
  image  = "debian-12"
  size   = "tiny"
}

resource "cloud_balancer" "web" {
  servers = cloud_server.web[*].address
  health  = jsonencode({ path = "/health", interval = 10, healthy = 2, unhealthy = 3 })
}

resource "cloud_record" "shop" {
  name  = "shop.example.com"
  value = cloud_balancer.web.id
}

resource "cloud_record" "mail" {
  name  = "mail.example.com"
  value = "10.0.0.25"
}

output "address" { value = cloud_record.shop.name }
output "database" {
  value     = cloud_database.orders.url
  sensitive = true
}
