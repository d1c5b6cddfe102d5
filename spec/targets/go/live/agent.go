package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// An agent that speaks the protocol of gops: one connection at a time, one byte
// asks, the answer ends with the connection. Its profiles take agentTime, so that
// a test need not wait for half a minute.
var (
	agentPorts = flag.String("agent", "", "directory of the agent's port file; empty: no agent")
	agentTime  = flag.Duration("agenttime", 2*time.Second, "how long the agent's profiles take")
)

func init() {
	optional = append(optional, func() {
		if *agentPorts == "" {
			return
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		file := filepath.Join(*agentPorts, strconv.Itoa(os.Getpid()))
		os.WriteFile(file, []byte(strconv.Itoa(port)), 0o600)
		go serveAgent(listener)
	})
}

func serveAgent(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		request := make([]byte, 1)
		if _, err := io.ReadFull(connection, request); err == nil {
			if err := answer(connection, request[0]); err != nil {
				fmt.Fprintln(os.Stderr, "agent:", err)
				continue // as gops: the connection stays open
			}
		}
		connection.Close()
	}
}

func answer(c net.Conn, request byte) error {
	switch request {
	case 0x1:
		return pprof.Lookup("goroutine").WriteTo(c, 2)
	case 0x2:
		runtime.GC()
		_, err := c.Write([]byte("ok"))
		return err
	case 0x3:
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Fprintf(c, "heap-alloc: %d bytes\nnum-gc: %d\n", m.HeapAlloc, m.NumGC)
	case 0x4:
		fmt.Fprintln(c, runtime.Version())
	case 0x5:
		return pprof.WriteHeapProfile(c)
	case 0x6:
		if err := pprof.StartCPUProfile(c); err != nil {
			return err
		}
		time.Sleep(*agentTime)
		pprof.StopCPUProfile()
	case 0x7:
		fmt.Fprintf(c, "goroutines: %v\nOS threads: %v\nGOMAXPROCS: %v\nnum CPU: %v\n",
			runtime.NumGoroutine(), pprof.Lookup("threadcreate").Count(),
			runtime.GOMAXPROCS(0), runtime.NumCPU())
	case 0x8:
		if err := trace.Start(c); err != nil {
			return err
		}
		time.Sleep(*agentTime)
		trace.Stop()
	case 0x9:
		path, err := os.Executable()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(c, bytes.NewReader(content))
		return err
	case 0x10:
		percent, err := binary.ReadVarint(byteReader{c})
		if err != nil {
			return err
		}
		fmt.Fprintf(c, "New GC percent set to %v. Previous value was %v.\n", percent,
			debug.SetGCPercent(int(percent)))
	}
	return nil
}

type byteReader struct{ c net.Conn }

func (r byteReader) ReadByte() (byte, error) {
	b := make([]byte, 1)
	_, err := io.ReadFull(r.c, b)
	return b[0], err
}
