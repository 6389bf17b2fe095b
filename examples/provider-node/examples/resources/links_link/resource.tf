resource "links_link" "welcome" {
  slug   = "welcome"
  target = "https://example.com/welcome"
}
