data "pgrows_query" "cheap" {
  sql        = "SELECT code, price FROM plans WHERE price < $1::numeric ORDER BY code"
  parameters = ["20"]
  depends_on = [pgrows_row.basic]
}

output "cheap_plans" {
  value = data.pgrows_query.cheap.rows[*].code
}
