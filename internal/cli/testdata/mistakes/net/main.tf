variable "cidr" {
  type = string
}

variable "parts" {
  type = number
}

output "subnets" {
  value = [for i in range(var.parts) : cidrsubnet(var.cidr, 8, i)]
}
