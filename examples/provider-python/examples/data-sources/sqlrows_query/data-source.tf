data "sqlrows_query" "free" {
  table = "plans"
  where = { price = "0" }
}
