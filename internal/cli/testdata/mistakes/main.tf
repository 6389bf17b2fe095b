terraform {
  required_version = ">= 1.5"
}

variable "region" {
  type        = string
  default     = "north"
  description = "Where it runs."
  validation {
    condition     = length(var.region) > 2
    error_message = "The region ${var.region} is too short."
  }
}

variable "servers" {
  type = map(object({
    size  = string
    ports = list(number)
    spare = optional(bool, false)
  }))
  default = {
    web = { size = "small", ports = [80, 443] }
    db  = { size = "large", ports = [5432] }
  }
}

locals {
  names  = [for name, server in var.servers : upper(name) if !server.spare]
  sizes  = { for name, server in var.servers : name => server.size }
  first  = local.names[0]
  greets = var.region == "north" ? "hello" : "moin"
  script = <<-EOT
    echo ${local.greets}
    echo %{for n in local.names}${n} %{endfor}
  EOT
}

resource "terraform_data" "server" {
  for_each = var.servers
  input = {
    name  = "${var.region}-${each.key}"
    ports = each.value.ports
    total = sum(each.value.ports) + 1
  }
  triggers_replace = [each.value.size, local.first]
  lifecycle {
    create_before_destroy = true
    precondition {
      condition     = length(each.value.ports) > 0
      error_message = "No ports."
    }
  }
}

resource "terraform_data" "worker" {
  count = length(local.names)
  input = "${local.names[count.index]}: ${terraform_data.server["web"].id}"
  depends_on = [
    terraform_data.server,
  ]
}

module "net" {
  source = "./net"
  cidr   = "10.0.0.0/16"
  parts  = length(var.servers)
}

output "workers" {
  value = terraform_data.worker[*].output
}

output "subnets" {
  value = {
    all   = module.net.subnets
    first = join(", ", slice(module.net.subnets, 0, 1))
  }
}
