resource "zones_zone" "main" {
  name        = "example.com"
  contact     = "hostmaster@example.com"
  nameservers = ["ns1", "ns2.example.net."]
}
