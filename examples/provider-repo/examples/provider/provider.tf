provider "repo" {
  api = "https://api.github.com"
  git = "https://github.com"
}
