# table, key, and the columns that are configured; without these, all columns are taken for configured
tombolo import sqlrows_row.basic '["plans", {"code": "basic"}, ["price"]]'
