// Package crash kills the real program repeatedly, while clients write and the rotator runs.
//
// Acknowledged readings must be stored, devices must stay registered, and every alert must be
// delivered. Several processes on one DynamoDB emulator must agree on their readings. The flags
// -kills and -within set the length of a test.
package crash
