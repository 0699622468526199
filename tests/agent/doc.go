// Package agent kills the real agent and the real server while devices send readings, and measures the
// memory and the speed of the agent.
package agent
