module github.com/keyfill/keyfill/keyfillvet

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/keyfill/keyfill v0.0.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/ngrok/sqlmw v0.0.0-20220520173518-97c9c04efc79 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/keyfill/keyfill => ..
