module github.com/keyfill/keyfill/auto/sqlserver

go 1.26.0

require (
	github.com/keyfill/keyfill v0.0.0
	github.com/microsoft/go-mssqldb v1.8.2
)

require (
	github.com/golang-sql/civil v0.0.0-20220223132316-b832511892a9 // indirect
	github.com/golang-sql/sqlexp v0.1.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/ngrok/sqlmw v0.0.0-20220520173518-97c9c04efc79 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/crypto v0.24.0 // indirect
	golang.org/x/text v0.16.0 // indirect
)

replace github.com/keyfill/keyfill => ../..
