package varvetest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// start is a command that the thread of StartChild starts.
type start struct {
	cmd  *exec.Cmd
	done chan error
}

// starts returns the queue of a thread that never ends. With Pdeathsig, Linux kills a child when the
// thread that started it ends. The thread of a goroutine may end at any time, so goroutines leave the
// start to this thread.
var starts = sync.OnceValue(func() chan start {
	queue := make(chan start)
	go func() {
		runtime.LockOSThread()
		for s := range queue {
			s.done <- s.cmd.Start()
		}
	}()
	return queue
})

// StartChild starts a command that is killed when this process ends, for example by the timeout of the tests.
func StartChild(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	starts() <- start{cmd, done}
	return <-done
}
