package bare

const copyOrders = "INSERT INTO orders SELECT * FROM carts"
