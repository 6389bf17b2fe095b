output "files" {
  description = "Where the pages are"
  value       = [for page in external_resource.page : page.id]
}

output "host" {
  value = data.external.host.result
}

output "release" {
  value = terraform_data.release.id
}
