//go:build tools

// Package main selects the server that is built with the modules beside it.
package main

import _ "go.etcd.io/etcd/server/v3"
