// A server that goes wrong when it is told to: each request for /leak starts
// goroutines that never end and keeps memory. It has net/http/pprof and expvar.
package main

import (
	"expvar"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"strconv"
)

var (
	kept   [][]byte
	jobs   = expvar.NewInt("jobs")
	forget = make(chan struct{})
)

//go:noinline
func waitForever() { <-forget }

//go:noinline
func handleLeak(n int) {
	for i := 0; i < n; i++ {
		go waitForever()
		kept = append(kept, make([]byte, 1000))
	}
	jobs.Add(int64(n))
}

func main() {
	http.HandleFunc("/leak", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		handleLeak(n)
		fmt.Fprintln(w, jobs.Value())
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("READY http=%s\n", listener.Addr())
	panic(http.Serve(listener, nil))
}
