terraform import hosts_unit.greeting greeting.service
