terraform {
  required_providers {
    pgrows = {
      source = "example/pgrows"
    }
  }
}

provider "pgrows" {
  dsn      = "postgres://app@db.example.com/shop"
  password = var.database_password
}

variable "database_password" {
  type      = string
  sensitive = true
}
