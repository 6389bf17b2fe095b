policy "firewalls" {
  command = ["python3", "policies/firewalls.py"]
}

policy "deletions" {
  command = ["bash", "policies/deletions.sh"]
}

policy "names" {
  command = ["opa", "eval", "--format=raw", "--stdin-input", "--data=policies/names.rego", "data.names.verdict"]
  timeout = "30s"
}
