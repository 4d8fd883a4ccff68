package main

import (
	"sync"
	"time"
)

type window struct {
	length time.Duration
	left   int
	reset  time.Time
}

type key struct {
	mutex   sync.Mutex
	quota   int
	windows [2]window
}

// take takes a token in both windows, or in none.
func (k *key) take(now time.Time) (remaining int, reset time.Time, isAllowed bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	isAllowed = true
	for index := range k.windows {
		w := &k.windows[index]
		if !now.Before(w.reset) {
			w.left, w.reset = k.quota, now.Add(w.length)
		}
		isAllowed = isAllowed && w.left > 0
	}
	remaining, reset = k.quota, now
	for index := range k.windows {
		w := &k.windows[index]
		if isAllowed {
			w.left--
		}
		if w.left <= remaining {
			remaining, reset = w.left, w.reset
		}
	}
	return remaining, reset, isAllowed
}
