terraform import zones_zone.main example.com
