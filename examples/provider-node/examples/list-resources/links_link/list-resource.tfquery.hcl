list "links_link" "campaign" {
  provider = links
  config {
    prefix = "spring-"
  }
}
