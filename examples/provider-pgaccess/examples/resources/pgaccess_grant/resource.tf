resource "pgaccess_grant" "orders" {
  role       = pgaccess_role.readers.name
  on         = "table"
  name       = "shop.orders"
  privileges = ["SELECT"]
}
