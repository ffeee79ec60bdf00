"""An issue's thread on GitHub: read as a person looks at it, and a question put into it."""
