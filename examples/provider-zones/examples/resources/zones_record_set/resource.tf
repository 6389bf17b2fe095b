resource "zones_record_set" "web" {
  zone   = zones_zone.main.name
  name   = "www"
  type   = "A"
  ttl    = 300
  values = [var.address]
}
