//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("chaos needs Linux: /proc tells there what is left")
	os.Exit(1)
}
