# by schema and name
terraform import pgrows_table.plans public.plans
