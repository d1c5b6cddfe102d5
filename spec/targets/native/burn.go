// Burns CPU below functions of Go's own assembly: three times as much in `often`
// as in `seldom`.
package main

import (
	"crypto/sha256"
	"fmt"
)

var block = make([]byte, 4096)

//go:noinline
func hash(n int) (x byte) {
	for i := 0; i < n; i++ {
		x += sha256.Sum256(block)[0]
	}
	return x
}

//go:noinline
func often() byte { return hash(30) }

//go:noinline
func seldom() byte { return hash(10) }

func main() {
	fmt.Println("ready")
	for {
		often()
		seldom()
	}
}
