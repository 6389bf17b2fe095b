# Run it with TOMBOLO_PROGRAM_PROVIDERS=example/sqlrows=.. tombolo apply, after psql -f schema.sql
terraform {
  required_providers {
    sqlrows = { source = "example/sqlrows" }
  }
}

variable "dsn" {
  type      = string
  sensitive = true
}

variable "price" {
  default = "9.90"
}

provider "sqlrows" {
  dsn = var.dsn
}

resource "sqlrows_row" "basic" {
  table  = "plans"
  key    = { code = "basic" }
  values = { price = var.price }
}

resource "sqlrows_row" "more" {
  for_each = { team = "49", company = "199" }
  table    = "public.plans"
  key      = { code = each.key }
  values = {
    price = each.value
    note  = "the \"${each.key}\" plan; it's not ${sqlrows_row.basic.key.code}"
  }
}

data "sqlrows_query" "basic" {
  table      = "plans"
  where      = { code = "basic" }
  depends_on = [sqlrows_row.basic]
}

output "since" {
  value = sqlrows_row.basic.row.since
}

output "prices" {
  value = data.sqlrows_query.basic.rows[*].price
}
