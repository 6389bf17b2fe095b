# Run it with ZONES_ROOT=/srv/zones TOMBOLO_PROGRAM_PROVIDERS=example/zones=.. tombolo apply
terraform {
  required_providers {
    zones = { source = "example/zones" }
  }
}

variable "address" {
  default = "192.0.2.10"
}

resource "zones_zone" "main" {
  name        = "example.com"
  contact     = "hostmaster@example.com"
  nameservers = ["ns1", "ns2.example.net."]
}

resource "zones_record_set" "web" {
  zone   = zones_zone.main.name
  name   = "www"
  type   = "A"
  ttl    = 300
  values = [var.address]
}

resource "zones_record_set" "mail" {
  zone   = zones_zone.main.name
  name   = "@"
  type   = "MX"
  values = ["10 mail", "20 mail.example.net."]
}

resource "zones_record_set" "hosts" {
  for_each = toset(["a", "b", "c", "d", "e", "f", "g", "h"])
  zone     = zones_zone.main.name
  name     = each.key
  type     = "CNAME"
  values   = ["www"]
}

data "zones_zone" "main" {
  name       = zones_zone.main.name
  depends_on = [zones_record_set.web, zones_record_set.mail, zones_record_set.hosts]
}

output "records" {
  value = length(data.zones_zone.main.records)
}
