//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("chaos needs Linux: /proc shows what is left there")
	os.Exit(1)
}
