resource "hosts_user" "deploy" {
  name            = "deploy"
  comment         = "Deployments"
  shell           = "/bin/sh"
  groups          = ["adm"]
  authorized_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleExam deploy@example.com"]
  remove_home     = true
}
