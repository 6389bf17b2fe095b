terraform import pgaccess_grant.orders shop_readers:table:shop.orders
