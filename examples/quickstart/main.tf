# A site of a few pages, made only of files and shell programs.
#
#   tombolo apply      creates world/site with one file for each page
#   tombolo plan       shows what has changed since: edit variables.tf, or a file under world/, and look
#   tombolo destroy    deletes everything

terraform {
  required_providers {
    # Built in: nothing has to be installed.
    external = { source = "tombolo/external" }
  }
}

# Data is read while planning. The program reads `query` from standard input and writes `result`.
data "external" "host" {
  program = ["sh", "${path.module}/host.sh"]
  query   = { greeting = var.greeting }
}

locals {
  footer = "${data.external.host.result.greeting} from ${data.external.host.result.system}."
  # Values may have several lines; each page ends with the same one.
  texts = { for name, text in var.pages : name => "${text}\n\n${local.footer}" }
}

# A resource is an object that a program creates, reads, updates and deletes.
resource "external_resource" "site" {
  interpreter = "sh"
  program     = "${path.module}/folder.sh"
  arguments   = { path = "world/site" }
}

# One page for each entry of the map. The reference to the site's id makes the site be created first and destroyed last.
resource "external_resource" "page" {
  for_each    = local.texts
  interpreter = "sh"
  program     = "${path.module}/page.sh"
  arguments = {
    path = "${external_resource.site.id}/${each.key}.txt"
    text = each.value
  }
}

# The table of contents refers to all pages: it is written after them.
resource "external_resource" "index" {
  count       = var.index ? 1 : 0
  interpreter = "sh"
  program     = "${path.module}/page.sh"
  arguments = {
    path = "${external_resource.site.id}/index.txt"
    text = join("\n", [for name, page in external_resource.page : "${name}: ${page.result.bytes} bytes"])
  }
}

# A resource that only exists in the state: it is replaced whenever the content of a page changes.
resource "terraform_data" "release" {
  triggers_replace = { for name, page in external_resource.page : name => page.result.checksum }
}
