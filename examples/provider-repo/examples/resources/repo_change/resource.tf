resource "repo_change" "motd" {
  repository = "team/website"
  branch     = "motd"
  title      = "Change the message of the day"
  body       = "Written by the platform team."
  files = {
    "motd.txt" = "${var.text}\n"
  }
}
