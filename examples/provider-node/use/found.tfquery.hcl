# Lists existing objects: tombolo query, or terraform query since 1.14
list "links_link" "all" {
  provider         = links
  include_resource = true
}
