data "links_catalog" "campaign" {
  prefix = "spring-"
}
