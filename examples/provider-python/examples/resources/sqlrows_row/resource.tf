resource "sqlrows_row" "basic" {
  table  = "plans"
  key    = { code = "basic" }
  values = { price = "9.90" }
}
