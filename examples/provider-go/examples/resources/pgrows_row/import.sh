# table?column=value, with & between the columns of the key
terraform import pgrows_row.basic 'public.plans?code=basic'
