# Run it with TOMBOLO_PROGRAM_PROVIDERS=example/repo=.. tombolo apply, after setting REPO_API, REPO_GIT and REPO_TOKEN
terraform {
  required_providers {
    repo = { source = "example/repo" }
  }
}

variable "token" {
  default   = null
  sensitive = true
}

variable "text" {
  default = "Welcome!"
}

provider "repo" {
  token = var.token
}

resource "repo_change" "motd" {
  repository = "team/website"
  branch     = "motd"
  title      = "Change the message of the day"
  body       = "Written by the platform team."
  files = {
    "motd.txt" = "${var.text}\n"
  }
}

resource "repo_change" "hosts" {
  for_each   = toset(["a", "b", "c", "d"])
  repository = "team/website"
  branch     = "hosts/${each.key}"
  title      = "Add the host ${each.key}"
  files = {
    "hosts/${each.key}.json" = jsonencode({ name = each.key })
  }
}

output "pull_request" {
  value = repo_change.motd.url
}
