// Package machine describes where and when something is measured.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine describes the machine that a figure was measured on, since figures depend on it.
type Machine struct {
	Time       time.Time     `json:"time"`
	Processors int           `json:"processors"`
	Processor  string        `json:"processor"`
	System     string        `json:"system"`
	Load       float64       `json:"load"`   // how many programs wanted a processor, on average over the last minute; -1 if it is not known
	Go         string        `json:"go"`     // the version
	Synced     time.Duration `json:"synced"` // how long a synced write takes, in nanoseconds
}

// Describe returns the machine as it is now. A synced write is made in the folder for
// temporary files, where throwaway servers keep their data.
func Describe() (Machine, error) {
	sync, err := syncTime(20)
	return Machine{
		Time:       time.Now().UTC(),
		Processors: runtime.NumCPU(),
		Processor:  processor(),
		System:     runtime.GOOS + "/" + runtime.GOARCH,
		Load:       load(),
		Go:         runtime.Version(),
		Synced:     sync,
	}, err
}

// String describes the machine in one line.
func (m Machine) String() string {
	load := "unknown"
	if m.Load >= 0 {
		load = fmt.Sprintf("%.2f", m.Load)
	}
	return fmt.Sprintf("%s; %d x %s, %s, load %s; %s; a synced write takes %v",
		m.Time.Format("2006-01-02 15:04 UTC"), m.Processors, m.Processor, m.System, load,
		m.Go, m.Synced.Round(10*time.Microsecond))
}

// Quiet reports whether little else runs: in the last minute the programs that wanted a
// processor, which include the compiler before a measurement, were at most one more than
// the processors. If other programs run at the same time, a measurement says little.
func (m Machine) Quiet() bool { return m.Load >= 0 && m.Load < float64(m.Processors+1) }

// load returns the load of the machine, which is known on Linux.
func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil {
		return load
	}
	return -1
}

// processor returns the name of the first processor, which is known on Linux.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}

// syncTime returns the mean time of n writes of a page that are synced.
func syncTime(n int) (time.Duration, error) {
	file, err := os.CreateTemp("", "keyfill-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, 4096)
	begin := time.Now()
	for range n {
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}
