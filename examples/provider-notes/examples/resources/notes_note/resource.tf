resource "notes_note" "hello" {
  title = "hello"
  text  = "Hello, world."
}
