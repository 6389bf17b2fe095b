# Three policies check this configuration. The second address list violates one of them.
variable "open_to" {
  type    = list(string)
  default = ["10.0.0.0/8"]
}

resource "terraform_data" "firewall" {
  input = { name = "web", open_to = var.open_to }
}

resource "terraform_data" "database" {
  input = { name = "orders" }
}
