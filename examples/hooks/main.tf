resource "terraform_data" "database" {
  input = { name = "orders" }
}

resource "terraform_data" "firewall" {
  input = { name = "web", open_to = ["10.0.0.0/8"] }
}
