package testkit

import "sync"

// AtOnce calls each function a hundred times, all of them at the same time. The race detector sees what they share
// without a lock.
func AtOnce(calls ...func()) {
	var work sync.WaitGroup
	begin := make(chan struct{})
	for _, call := range calls {
		work.Go(func() {
			<-begin
			for range 100 {
				call()
			}
		})
	}
	close(begin)
	work.Wait()
}
