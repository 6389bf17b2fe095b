output "quoted" {
  value = provider::pgrows::quote_ident("shop", "Order Lines") # shop."Order Lines"
}
