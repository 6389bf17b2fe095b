resource "pgrows_row" "basic" {
  table = pgrows_table.plans.id
  key   = { code = "basic" }
  values = {
    price = "9.90"
  }

  # Written when the version changes, and stored in the database alone.
  secrets         = { api_token = "a token" }
  secrets_version = 1
}
