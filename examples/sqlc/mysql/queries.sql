-- name: CreateCustomers :exec
INSERT INTO customers (name) VALUES (?), (?);

-- name: CreateOrder :execlastid
INSERT INTO orders (customer_id, note) VALUES (?, ?);

-- name: PutProduct :execlastid
INSERT INTO products (sku, price) VALUES (?, ?) ON DUPLICATE KEY UPDATE price = VALUES(price);
