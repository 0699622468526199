package dynamo

// setTTL will set when a row may be deleted by DynamoDB.
func (s *Store) setTTL(*expression, *group, []entry, *row) {}
