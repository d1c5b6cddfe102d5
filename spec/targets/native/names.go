// Functions whose names specs ask for, in a program that may be stripped.
package main

import "fmt"

//go:noinline
func work(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i // line 10
	}
	return sum
}

func main() { fmt.Println(work(10)) }
