# Run it with TOMBOLO_PROGRAM_PROVIDERS=example/notes=.. tombolo apply
terraform {
  required_providers {
    notes = { source = "example/notes" }
  }
}

variable "title" {
  default = "Hello, World"
}

variable "text" {
  default   = "The first note.\n"
  sensitive = true
}

resource "notes_note" "hello" {
  path = abspath("${path.module}/${provider::notes::slug(var.title)}.txt")
  text = var.text
}

output "file" {
  value = basename(notes_note.hello.id)
}

output "bytes" {
  value = notes_note.hello.bytes
}
