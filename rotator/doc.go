// Package rotator looks after the tables: it makes them before they are needed,
// tunes them down when nothing can be written to them any more, retires them
// when everything in them has expired, and drops them after a grace. Retired is
// a mark and no more: a query reads what can be alive, marked or not.
//
//	write month M:  ahead │ open          │ sealed               │ retired   │ dropped
//	                M-1   │ M      M.end+Seal   …+retention+2 days   + Grace
//
// A plan is a pure function of the time, the policy and the tables there are; it
// can be looked at before it is applied. Applying goes through it step by step,
// creating first and dropping last. A step that fails stops no other; a run that
// is killed between two steps is simply run again.
package rotator
