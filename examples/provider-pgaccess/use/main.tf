# Run it with PGACCESS_DSN=... TOMBOLO_PROGRAM_PROVIDERS=example/pgaccess=.. tombolo apply, after psql -f schema.sql
terraform {
  required_providers {
    pgaccess = { source = "example/pgaccess" }
  }
}

variable "dsn" {
  default   = null
  sensitive = true
}

variable "password" {
  sensitive = true
  default   = null
}

variable "limit" {
  default = 10
}

provider "pgaccess" {
  dsn = var.dsn
}

resource "pgaccess_role" "readers" {
  name = "shop_readers"
}

resource "pgaccess_role" "app" {
  name             = "shop_app"
  login            = true
  connection_limit = var.limit
  member_of        = [pgaccess_role.readers.name]
  password         = var.password
  password_version = 1
}

resource "pgaccess_grant" "schema" {
  role       = pgaccess_role.readers.name
  on         = "schema"
  name       = "shop"
  privileges = ["USAGE"]
}

resource "pgaccess_grant" "orders" {
  role       = pgaccess_role.readers.name
  on         = "table"
  name       = "shop.orders"
  privileges = ["SELECT"]
}

resource "pgaccess_role" "teams" {
  for_each = toset(["a", "b", "c", "d", "e", "f"])
  name     = "shop_team_${each.key}"
}

# All change the privileges of the same table.
resource "pgaccess_grant" "teams" {
  for_each   = pgaccess_role.teams
  role       = each.value.name
  on         = "table"
  name       = "shop.orders"
  privileges = ["SELECT", "INSERT", "UPDATE"]
}
