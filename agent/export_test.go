package agent

// LimitAnswers is exported for tests.
var LimitAnswers = limitAnswers
