terraform import repo_change.motd team/website:motd
