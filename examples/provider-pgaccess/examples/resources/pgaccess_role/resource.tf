resource "pgaccess_role" "app" {
  name             = "shop_app"
  login            = true
  connection_limit = var.limit
  member_of        = [pgaccess_role.readers.name]
  password         = var.password
  password_version = 1
}
