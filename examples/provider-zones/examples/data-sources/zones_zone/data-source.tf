data "zones_zone" "main" {
  name = "example.com"
}
