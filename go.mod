module github.com/keyfill/keyfill

go 1.26.0

require (
	github.com/DATA-DOG/go-sqlmock v1.5.2
	github.com/google/uuid v1.6.0
	github.com/ngrok/sqlmw v0.0.0-20220520173518-97c9c04efc79
	go.yaml.in/yaml/v3 v3.0.6
)
