-- name: CreateCustomers :exec
INSERT INTO customers (name) VALUES (?), (?);

-- name: CreateOrder :one
INSERT INTO orders (customer_id, note) VALUES (?, ?) RETURNING id;

-- name: PutProduct :one
INSERT INTO products (sku, price) VALUES (?, ?) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id;
