module github.com/keyfill/keyfill

go 1.26.0
