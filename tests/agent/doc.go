// Package agent kills the real agent and the real server while devices send readings.
//
// It also measures the memory and the speed of the agent, and checks that its programs are static.
// Each reading that the agent has acknowledged must be in the server's store at the end. The flags
// -kills and -within set the length of the kill test.
package agent
