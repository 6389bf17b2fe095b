tombolo import links_link.welcome welcome
