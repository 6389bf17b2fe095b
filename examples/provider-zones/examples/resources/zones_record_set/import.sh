terraform import zones_record_set.web example.com/www/A
