// Command dumps is a Go process whose goroutines a spec knows. It needs only the
// standard library of Go 1.18 or later. Its argument says what it does:
//
//	park DIR    parks goroutines, writes DIR/debug1.txt, DIR/debug2.txt and, a
//	            little later, DIR/later.txt; then waits for a signal
//	crowd N     writes the dump of N more goroutines to standard output
//	locks       two goroutines wait for each other's lock, one for both
//	asleep      every goroutine waits: the runtime gives up
//	overflow    calls itself until the stack is full
//	race        writes one variable from two goroutines (built with -race)
//	log         logs a recovered panic with its stack, as many servers do
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

var never = make(chan int)

type account struct {
	name  string
	mu    sync.Mutex
	total int
}

//go:noinline
func (a *account) transfer(to *account, started *sync.WaitGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	started.Done()
	started.Wait()
	to.mu.Lock()
	defer to.mu.Unlock()
	to.total++
}

//go:noinline
func (a *account) audit() {
	a.mu.Lock()
	a.total++
}

//go:noinline
func receive() { <-never }

//go:noinline
func receiveNil() {
	var c chan int
	<-c
}

//go:noinline
func lockedToThread() {
	runtime.LockOSThread()
	<-never
}

//go:noinline
func descend(n int) int {
	if n == 0 {
		<-never
	}
	return descend(n-1) + 1
}

//go:noinline
func labelled(ctx context.Context) { <-never }

type box[T any] struct{ queue chan T }

//go:noinline
func (b *box[T]) loop() {
	for range b.queue {
	}
}

func settle() { time.Sleep(100 * time.Millisecond) }

func write(path, profile string, level int) {
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.Lookup(profile).WriteTo(file, level); err != nil {
		log.Fatal(err)
	}
	file.Close()
}

func park(dir string) {
	for i := 0; i < 3; i++ {
		go receive()
	}
	go receiveNil()
	go lockedToThread()
	go descend(150)
	go (&box[string]{make(chan string)}).loop()
	labels := pprof.Labels("route", "/cart \"1\"", "shard", "7")
	go pprof.Do(context.Background(), labels, labelled)
	release := make(chan int)
	go func() { <-release }()
	settle()
	write(filepath.Join(dir, "debug1.txt"), "goroutine", 1)
	write(filepath.Join(dir, "debug2.txt"), "goroutine", 2)
	close(release)
	for i := 0; i < 2; i++ {
		go receive()
	}
	settle()
	write(filepath.Join(dir, "later.txt"), "goroutine", 2)
	os.Stdout.WriteString("READY\n")
	// A wait without end would be taken for a dead-lock.
	time.Sleep(time.Hour)
}

func crowd(n int) {
	for i := 0; i < n; i++ {
		go receive()
	}
	settle()
	pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
}

func locks() {
	var started sync.WaitGroup
	started.Add(2)
	a, b := &account{name: "a"}, &account{name: "b"}
	go a.transfer(b, &started)
	go b.transfer(a, &started)
	settle()
	go a.audit()
	settle()
	pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
}

//go:noinline
func overflow(n int) int { return overflow(n+1) + n }

var shared int

//go:noinline
func bump() { shared++ }

func race() {
	var done sync.WaitGroup
	done.Add(2)
	for i := 0; i < 2; i++ {
		go func() {
			bump()
			done.Done()
		}()
	}
	done.Wait()
}

func serve() {
	defer func() {
		if err := recover(); err != nil {
			log.Printf("panic serving: %v\n%s", err, debug.Stack())
		}
	}()
	var table map[string]int
	table["a"]++
}

func main() {
	switch os.Args[1] {
	case "park":
		park(os.Args[2])
	case "crowd":
		n, _ := strconv.Atoi(os.Args[2])
		crowd(n)
	case "locks":
		locks()
	case "asleep":
		go receive()
		receive()
	case "overflow":
		debug.SetMaxStack(1 << 20)
		overflow(0)
	case "race":
		race()
	case "log":
		log.Print("listening")
		serve()
		log.Print("request done")
	}
}
