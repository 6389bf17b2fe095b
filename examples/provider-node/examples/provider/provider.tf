provider "links" {
  url   = "http://127.0.0.1:8080"
  token = var.token
}
