package pipeline

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// limitMemory bounds the address space of this process to what it has now and extra bytes more.
func limitMemory(extra int64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages int64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return fmt.Errorf("/proc/self/statm: %w", err)
	}
	limit := uint64(pages*int64(os.Getpagesize()) + extra)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("setrlimit: %w", err)
	}
	return nil
}

// exitOnCPULimit ends this process when its processor time is over: the Go runtime passes the signal over.
var exitOnCPULimit = sync.OnceFunc(func() {
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() {
		<-over
		os.Stderr.WriteString("SIGXCPU\n")
		os.Exit(2)
	}()
})

// limitCPU lets this process run for another d of processor time, at least a second.
func limitCPU(d time.Duration) error {
	exitOnCPULimit()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("getrusage: %w", err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("getrlimit: %w", err)
	}
	spent := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	limit.Cur = min(uint64((spent+d)/time.Second)+1, limit.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("setrlimit: %w", err)
	}
	return nil
}
