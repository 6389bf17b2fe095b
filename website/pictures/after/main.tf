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
  zones  = ["a", "b"]
}

resource "cloud_database" "orders" {
  subnet   = module.network.subnets["a"]
  engine   = "postgres 17"
  password = var.password
  disk     = 250
}

resource "cloud_server" "web" {
  count  = 6
  subnet = module.network.subnets[element(["a", "b"], count.index)]
  image  = "debian-12"
  size   = "medium"
  script = <<-EOT
    #!/bin/sh
    apt-get update
    apt-get install -y nginx certbot
    systemctl enable --now nginx
  EOT
  tags   = { role = "web" }
}

resource "cloud_server" "worker" {
  for_each = toset(["mail", "invoice"])
  subnet   = module.network.subnets["b"]
  image    = "debian-12"
  size     = "small"
  tags     = { role = each.key }
}

resource "cloud_record" "status" {
  name  = "status.example.com"
  value = cloud_database.orders.address
}

check "room" {
  assert {
    condition     = length(cloud_server.web) >= 4
    error_message = "The shop needs four servers."
  }
}

check "spare" {
  assert {
    condition     = length(cloud_server.worker) >= 3
    error_message = "Only ${length(cloud_server.worker)} workers are left, and the shop needs three."
  }
}

resource "cloud_balancer" "web" {
  servers = cloud_server.web[*].address
  health  = jsonencode({ path = "/health", interval = 5, healthy = 2, unhealthy = 3 })
}

resource "cloud_record" "shop" {
  name  = "shop.example.com"
  value = cloud_balancer.web.id
}

moved {
  from = cloud_record.mail
  to   = cloud_record.post
}

resource "cloud_record" "post" {
  name  = "mail.example.com"
  value = "10.0.0.25"
}

output "address" { value = cloud_record.shop.name }
output "servers" { value = cloud_server.web[*].address }
output "database" {
  value     = cloud_database.orders.url
  sensitive = true
}
