terraform import hosts_user.deploy deploy
