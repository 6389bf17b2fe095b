# Set these with -var 'greeting=Hello', in a file terraform.tfvars, or with TF_VAR_greeting in the environment.

variable "greeting" {
  description = "How every page ends"
  type        = string
  default     = "Greetings"

  validation {
    condition     = length(var.greeting) > 0
    error_message = "A page needs a greeting."
  }
}

variable "pages" {
  description = "The text of every page by its name"
  type        = map(string)
  default = {
    welcome = "A tombolo is a bar of sand that ties an island to the land."
    island  = "It grows where waves meet behind the island and drop what they carry."
  }
}

variable "index" {
  description = "Whether there is a table of contents"
  type        = bool
  default     = true
}
