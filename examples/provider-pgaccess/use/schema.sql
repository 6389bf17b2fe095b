CREATE SCHEMA shop;
CREATE TABLE shop.orders (number integer PRIMARY KEY, customer text NOT NULL);
CREATE TABLE shop."Order lines" (number integer, item text);
