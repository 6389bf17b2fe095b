provider "hosts" {
  host = "web1.example.com"
  user = "admin"
  sudo = true
}
