terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}

variable "dir" {
  type = string
}

variable "name" {
  type = string
}

provider "world" {
  dir = var.dir
}

resource "world_object" "a" {
  name  = var.name
  value = "from a directory"
}
