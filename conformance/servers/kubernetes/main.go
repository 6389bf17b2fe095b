//go:build tools

// Package main selects the server that is built with the modules beside it.
package main

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
