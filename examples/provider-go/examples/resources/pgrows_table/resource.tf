resource "pgrows_table" "plans" {
  name        = "plans"
  comment     = "What customers can buy"
  primary_key = ["code"]

  column {
    name = "code"
    type = "text"
  }
  column {
    name    = "price"
    type    = "numeric(10,2)"
    default = "0"
  }
  column {
    name     = "api_token"
    type     = "text"
    nullable = true
  }

  index {
    name    = "plans_by_price"
    columns = ["price"]
  }

  lifecycle {
    prevent_destroy = false # true is wise where the rows matter
  }
}
