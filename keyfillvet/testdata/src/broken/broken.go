package broken

const copyOrders = "INSERT INTO orders SELECT * FROM carts"
