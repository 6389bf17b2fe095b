action "links_warm" "campaign" {
  config {
    prefix = "spring-"
  }
}

resource "links_link" "sale" {
  slug   = "spring-sale"
  target = "https://example.com/sale"

  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.links_warm.campaign]
    }
  }
}
