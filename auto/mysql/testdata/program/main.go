// Command program is the smallest application of package mysql.
package main

import (
	"database/sql"
	"fmt"

	_ "github.com/keyfill/keyfill/auto/mysql"
)

func main() {
	_, err := sql.Open("mysql-keyfill", "")
	fmt.Println(err)
}
