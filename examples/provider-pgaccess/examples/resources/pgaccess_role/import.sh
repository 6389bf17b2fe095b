terraform import pgaccess_role.app shop_app
