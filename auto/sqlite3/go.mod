module github.com/keyfill/keyfill/auto/sqlite3

go 1.26.0

require (
	github.com/keyfill/keyfill v0.0.0
	github.com/mattn/go-sqlite3 v1.14.29
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/ngrok/sqlmw v0.0.0-20220520173518-97c9c04efc79 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/keyfill/keyfill => ../..
