# A database without a backup must not be deleted.
hook "backup" {
  events      = ["before_object"]
  objects     = ["terraform_data.database"]
  actions     = ["delete"]
  command     = ["bash", "hooks/backup.sh"]
  environment = ["HOME"]
  timeout     = "30s"
}

# A log of all changes. If it cannot be written, that is only a warning.
hook "log" {
  events     = ["after_object", "after_apply"]
  command    = ["python3", "hooks/log.py"]
  on_failure = "continue"
}
