module github.com/keyfill/keyfill/release

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/uuid v1.6.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/mod v0.42.0
)

require (
	github.com/keyfill/keyfill v0.0.0
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/keyfill/keyfill => ../
