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
