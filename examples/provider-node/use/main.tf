# Run it with TOMBOLO_PROGRAM_PROVIDERS=example/links=.. tombolo apply, while the service runs
terraform {
  required_providers {
    links = { source = "example/links" }
  }
}

variable "url" {
  default = "http://127.0.0.1:8080"
}

variable "token" {
  type      = string
  sensitive = true
}

variable "target" {
  default = "https://example.com/welcome"
}

provider "links" {
  url   = var.url
  token = var.token
}

resource "links_link" "welcome" {
  slug   = "welcome"
  target = var.target
  title  = "Where everybody begins"
}

resource "links_link" "pages" {
  for_each = toset(["docs", "help"])
  target   = "${var.target}/${each.key}"
}

data "links_catalog" "welcome" {
  prefix     = "wel"
  depends_on = [links_link.welcome]
}

output "welcome" {
  value = links_link.welcome.short_url
}

output "catalog" {
  value = data.links_catalog.welcome.targets
}
