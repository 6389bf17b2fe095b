variable "name" { type = string }

variable "subnets" { type = map(string) }

variable "size" {
  type = number
  validation {
    condition     = var.size > 0 && var.size <= 100
    error_message = "A service has between 1 and 100 instances."
  }
}

locals {
  ranges = values(var.subnets)
}

resource "terraform_data" "instance" {
  count = var.size
  input = {
    name    = "${var.name}-${count.index}"
    address = cidrhost(local.ranges[count.index % length(local.ranges)], 10 + count.index)
  }

  # Another network requires new instances.
  triggers_replace = keys(var.subnets)
}

output "addresses" {
  value = terraform_data.instance[*].output.address
}
