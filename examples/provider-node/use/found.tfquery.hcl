# What there is: tombolo query, or terraform query from 1.14 on
list "links_link" "all" {
  provider         = links
  include_resource = true
}
