-- name: CreateCustomers :exec
INSERT INTO customers (name) VALUES ($1), ($2);

-- name: CreateOrder :one
INSERT INTO orders (customer_id, note) VALUES ($1, $2) RETURNING id;

-- name: PutProduct :one
INSERT INTO products (sku, price) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id;
