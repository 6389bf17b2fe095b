# Run it with TOMBOLO_PROGRAM_PROVIDERS=example/hosts=.. tombolo apply -var host=web1.example.com
terraform {
  required_providers {
    hosts = { source = "example/hosts" }
  }
}

variable "host" {}

variable "port" {
  default = null
}

variable "user" {
  default = null
}

variable "private_key" {
  default   = null
  sensitive = true
}

variable "host_key" {
  default = null
}

variable "unit_folder" {
  default = null
}

variable "greeting" {
  default = "hello"
}

provider "hosts" {
  host        = var.host
  port        = var.port
  user        = var.user
  private_key = var.private_key
  host_key    = var.host_key
  unit_folder = var.unit_folder
}

resource "hosts_user" "deploy" {
  name            = "deploy"
  comment         = "Deployments"
  shell           = "/bin/sh"
  groups          = ["adm"]
  authorized_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleExam deploy@example.com"]
  remove_home     = true
}

resource "hosts_unit" "greeting" {
  name    = "greeting.service"
  enabled = true
  running = true
  content = <<-EOT
    [Unit]
    Description=Writes a greeting to the journal

    [Service]
    User=${hosts_user.deploy.name}
    Type=oneshot
    RemainAfterExit=yes
    ExecStart=/bin/echo ${var.greeting}

    [Install]
    WantedBy=multi-user.target
  EOT
}

output "uid" {
  value = hosts_user.deploy.uid
}
