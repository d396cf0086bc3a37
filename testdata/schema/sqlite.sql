CREATE TABLE customers (name text, id text PRIMARY KEY NOT NULL, email text UNIQUE, note text);
CREATE TABLE orders (id bigint PRIMARY KEY NOT NULL, customer text, total numeric, note text, "with" text, "?" text, "a[b" text, "c]d" text);
CREATE TABLE parts (id text PRIMARY KEY NOT NULL, item text, line_no bigint);
CREATE TABLE invoices (buyer text, number bigint PRIMARY KEY NOT NULL);
CREATE TABLE "order" ("values" bigint PRIMARY KEY NOT NULL, "select" text);
CREATE TABLE audit (what text, note text);
CREATE TABLE receipts (id bigint PRIMARY KEY NOT NULL, customer text, total numeric, note text);
