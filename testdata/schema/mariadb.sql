CREATE TABLE customers (name varchar(50), id char(36) PRIMARY KEY, email varchar(50) UNIQUE, note varchar(50));
CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(50), total decimal(20,2), note varchar(50), `?` text, `as` text, `returning` text, `cus``tomer` text, `a) VALUES ("b` text, `a\` text, b text, `$a` text, `b$c` text) PARTITION BY KEY (id) (PARTITION p0, PARTITION p1, PARTITION p2);
CREATE TABLE parts (id char(36) PRIMARY KEY, item varchar(50), line_no bigint);
CREATE TABLE invoices (buyer varchar(50), number bigint PRIMARY KEY);
CREATE TABLE `order` (`values` bigint PRIMARY KEY, `select` text);
CREATE TABLE `values` (id bigint PRIMARY KEY, note text);
CREATE TABLE audit (what text, note text);
CREATE TABLE receipts (id bigint PRIMARY KEY, customer varchar(50), total decimal(20,2), note varchar(50)) PARTITION BY KEY (id) (PARTITION p0, PARTITION p1, PARTITION p2);
