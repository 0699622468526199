package agent

var LimitAnswers = limitAnswers
