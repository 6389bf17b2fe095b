CREATE TABLE plans (
  code  text PRIMARY KEY,
  price numeric(10, 2) NOT NULL DEFAULT 0,
  note  text,
  since date NOT NULL DEFAULT '2030-01-01'
);
