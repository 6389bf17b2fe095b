provider "sqlrows" {
  dsn = var.dsn
}
