-- name: CreateCustomers :copyfrom
INSERT INTO customers (name) VALUES ($1);

-- name: CreateOrders :batchone
INSERT INTO orders (customer_id, note) VALUES ($1, $2) RETURNING id, customer_id, note;

-- name: PutProduct :one
INSERT INTO products (sku, price) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id, sku, price;
