provider "zones" {
  root = "/etc/bind/zones"
}
