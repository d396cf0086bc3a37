module github.com/keyfill/keyfill/faults

go 1.26.0
