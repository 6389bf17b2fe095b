provider "pgaccess" {
  dsn = "host=/run/postgresql dbname=shop"
}
